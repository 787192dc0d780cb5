// Copies the address of the page. Where the browser has no clipboard, a field with the link appears.

(window.openquery ??= {}).copy_link = function ({ parentElement }) {
  const button = parentElement.querySelector('button');
  const [text, icon] = ['.text', '.icon'].map((name) => button.querySelector(name));
  const label = parentElement.querySelector('label');
  const field = parentElement.querySelector('input');
  const status = parentElement.querySelector('[role=status]');
  let timer;

  const copied = () => {
    label.hidden = true;
    text.textContent = status.textContent = 'Link copied';
    icon.textContent = 'check';
    clearTimeout(timer);
    timer = setTimeout(() => {
      text.textContent = 'Copy link';
      status.textContent = '';
      icon.textContent = 'link';
    }, 2500);
  };
  const show = (link) => {
    label.hidden = false;
    field.value = link;
    field.focus();
    field.select();
    status.textContent = 'The link is in the field below the button.';
  };
  button.onclick = async () => {
    const link = location.origin + location.pathname + location.search;
    // Browsers have a clipboard over https and on localhost only, and may refuse it there too.
    try {
      await navigator.clipboard.writeText(link);
      copied();
    } catch {
      show(link);
    }
  };
  field.onfocus = () => field.select();
  return () => clearTimeout(timer);
}
