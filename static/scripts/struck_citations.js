// Strikes the citations whose passage left the context, and tints the words that each of them supports. The tint is a
// highlight of the browser, so the words of the answer are not drawn again: a selection of text survives.

const CITATION = 'a[href^="#src-"]';

// The words between the citation, or row of citations, before this one and this one, within its paragraph.
function claimOf(link) {
  const block = link.closest('p, li, td, th, h3, h4, h5, h6') ?? link.parentElement;
  const range = document.createRange();
  range.setStart(block, 0);
  let first = link;
  for (const other of block.querySelectorAll(CITATION)) {
    if (other === link) break;
    const between = document.createRange();
    between.setStartAfter(other);
    between.setEndBefore(link);
    if (between.toString().trim()) range.setStartAfter(other);
    else if (first === link) first = other;
  }
  range.setEndBefore(first);
  return range;
}

const LEFT = ', left the context';

// Strike the citations of these numbers, and no others.
function strike(lost) {
  const claims = [];
  document.querySelectorAll(`.st-key-answer_body ${CITATION}`).forEach((link) => {
    const isLost = lost.has(Number(link.getAttribute('href').slice(5)));
    if (isLost) claims.push(claimOf(link));
    if (link.classList.contains('oq-lost') === isLost) return;
    link.classList.toggle('oq-lost', isLost);
    const name = (link.getAttribute('aria-label') ?? `Source ${link.textContent.trim()}`).replace(LEFT, '');
    link.setAttribute('aria-label', isLost ? name + LEFT : name);
  });
  document.querySelectorAll('.oq-source[id^="src-"]').forEach((card) => card.classList.toggle('oq-lost', lost.has(Number(card.id.slice(4)))));
  if (!window.Highlight) return;
  if (claims.length) CSS.highlights.set('oq-lost', new Highlight(...claims));
  else CSS.highlights.delete('oq-lost');
}

(window.openquery ??= {}).struck_citations = function ({ data }) {
  const lost = new Set(data.lost);
  strike(lost);
  // Streamlit draws the answer again, for example when a citation was clicked.
  const watch = new MutationObserver(() => strike(lost));
  watch.observe(document.querySelector('.st-key-answer_card') ?? document.body, { childList: true, subtree: true });
  return () => {
    watch.disconnect();
    strike(new Set());
  };
};
