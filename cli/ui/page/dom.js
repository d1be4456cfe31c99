// Creates elements. Text becomes only text nodes, because names and messages are untrusted.

/** @typedef {Node | string | number | false | null | undefined} Child */

/**
 * Creates an element. Keys that start with `on` are listeners, others are attributes; undefined and false omit an
 * attribute.
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {Record<string, unknown>} [attributes]
 * @param {...(Child | Child[])} children
 * @returns {HTMLElementTagNameMap[Tag]}
 */
export function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === 'function') element.addEventListener(name.slice(2), /** @type {EventListener} */ (value));
    else setAttribute(element, name, value);
  }
  element.append(...nodesOf(children));
  return element;
}

/** @param {(Child | Child[])[]} children */
const nodesOf = (children) =>
  children
    .flat()
    .filter((child) => child !== false && child !== null && child !== undefined && child !== '')
    .map((child) => (child instanceof Node ? child : document.createTextNode(String(child))));

/**
 * @param {Element} element
 * @param {string} name
 * @param {unknown} value
 */
export function setAttribute(element, name, value) {
  if (value === undefined || value === false || value === null) element.removeAttribute(name);
  else if (element.getAttribute(name) !== String(value))
    element.setAttribute(name, value === true ? '' : String(value));
}

/**
 * Sets a text only if it has changed, so that screen readers don't repeat it.
 * @param {Element} element
 * @param {string} text
 */
export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/**
 * Updates the children of an element to match a list. Elements are reused by key.
 * @template T
 * @param {Element} parent
 * @param {readonly T[]} items
 * @param {{ key: (item: T) => string, make: (item: T) => HTMLElement, update?: (element: HTMLElement, item: T) => void }} how
 */
export function keep(parent, items, { key, make, update }) {
  const before = new Map([...parent.children].map((child) => [/** @type {HTMLElement} */ (child).dataset.key, child]));
  /** @type {Element | null} */
  let next = parent.firstElementChild;
  for (const item of items) {
    const name = key(item);
    let element = /** @type {HTMLElement | undefined} */ (before.get(name));
    if (element) before.delete(name);
    else {
      element = make(item);
      element.dataset.key = name;
    }
    update?.(element, item);
    if (element === next) next = next.nextElementSibling;
    else move(parent, element, next);
  }
  for (const element of before.values()) element.remove();
}

/**
 * Moves an element before another one, and keeps the focus if the browser supports it.
 * @param {Element & { moveBefore?: (node: Node, child: Node | null) => void }} parent
 * @param {HTMLElement} element
 * @param {Element | null} next
 */
function move(parent, element, next) {
  if (parent.moveBefore && element.parentNode === parent) parent.moveBefore(element, next);
  else parent.insertBefore(element, next);
}

/**
 * Redraws a part only if its value has changed. Keeps the focus and unfolded details, which `data-key` identifies.
 * @param {HTMLElement} element
 * @param {unknown} value
 * @param {() => (Child | Child[])[]} draw
 */
export function redraw(element, value, draw) {
  const text = JSON.stringify(value) ?? '';
  if (shown.get(element) === text) return;
  shown.set(element, text);
  const { activeElement } = document;
  const active = element !== activeElement && element.contains(activeElement) ? activeElement : null;
  const unfolded = new Map([...element.querySelectorAll('details')].map(({ dataset, open }) => [dataset.key, open]));
  element.replaceChildren(...nodesOf(draw()));
  if (unfolded.size > 0)
    for (const details of element.querySelectorAll('details'))
      details.open = unfolded.get(details.dataset.key) ?? false;
  if (active) focusLike(element, active);
}

/** @param {HTMLElement} element @param {Element} before */
function focusLike(element, before) {
  const able = /** @type {HTMLElement[]} */ ([...element.querySelectorAll('button, a[href], summary, [tabindex="0"]')]);
  (able.find((each) => nameOf(each) === nameOf(before)) ?? able[0] ?? byId('main')).focus({ preventScroll: true });
}

/** @param {Element} element */
const nameOf = (element) =>
  element.getAttribute('aria-label') ?? element.parentElement?.dataset.key ?? element.textContent;

/** @type {WeakMap<HTMLElement, string>} */
const shown = new WeakMap();

/** A table. @param {string[]} titles @param {HTMLElement[]} rows */
export const table = (titles, rows) =>
  h(
    'table',
    {},
    h('thead', {}, h('tr', {}, ...titles.map((title) => h('th', { scope: 'col' }, title)))),
    h('tbody', {}, rows),
  );

/**
 * Returns a static element of the page.
 * @param {string} id
 */
export function byId(id) {
  const element = document.getElementById(id);
  if (!element) throw new Error(`there is no #${id}`);
  return element;
}
