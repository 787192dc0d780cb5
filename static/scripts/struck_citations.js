// Strikes the citations whose passage left the context, and tints the words that each of them supports. The tint is a
// highlight of the browser, so nothing of the answer is changed: a selection of text survives.

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

(window.openquery ??= {}).struck_citations = function ({ data }) {
  const lost = new Set(data.lost);
  const strike = () => {
    const claims = [];
    document.querySelectorAll(`.st-key-answer_body ${CITATION}`).forEach((link) => {
      const number = Number(link.getAttribute('href').slice(5));
      const isLost = lost.has(number);
      if (link.classList.contains('oq-lost') !== isLost) {
        link.classList.toggle('oq-lost', isLost);
        if (isLost) link.setAttribute('aria-label', `Source ${number}, left the context`);
        else link.removeAttribute('aria-label');
      }
      if (isLost) claims.push(claimOf(link));
    });
    document.querySelectorAll('.oq-source[id^="src-"]').forEach((card) => card.classList.toggle('oq-lost', lost.has(Number(card.id.slice(4)))));
    if (window.Highlight) CSS.highlights.set('oq-lost', new Highlight(...claims));
  };
  strike();
  // Streamlit draws the answer again, for example when a citation was clicked.
  const watch = new MutationObserver(strike);
  const answer = document.querySelector('.st-key-answer_card') ?? document.body;
  watch.observe(answer, { childList: true, subtree: true });
  return () => {
    watch.disconnect();
    if (window.Highlight) CSS.highlights.delete('oq-lost');
  };
};
