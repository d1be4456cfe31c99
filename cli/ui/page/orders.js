// The verbs: each shows its effect first, and then makes exactly this change or none.
import { ask } from './connection.js';
import { byId, h, keep, setAttribute } from './dom.js';
import { readable } from './hash.js';
import { drawGroups } from './plan.js';

/** @typedef {import('../views.ts').Detail} Detail */
/** @typedef {import('../verbs.ts').Verb} Verb */
/** @typedef {import('../desk.ts').Proposal} Proposal */
/** @typedef {import('../desk.ts').Rights} Rights */
/** @typedef {import('../../fleet/plan-summary.ts').PlanSummary} Plan */
/** @typedef {{ verb: Verb, namespace: string, name: string, to?: string }} Wish */

/** @type {Record<Verb, { label: string, title: string }>} */
const WORDS = {
  sync: { label: 'Sync now', title: 'Sync' },
  approve: { label: 'Approve', title: 'Approve' },
  pause: { label: 'Pause', title: 'Pause' },
  resume: { label: 'Resume', title: 'Resume' },
  rollback: { label: 'Roll back', title: 'Roll back' },
  retry: { label: 'Retry', title: 'Retry' },
};

/**
 * Draws a button for each applicable verb.
 * @param {HTMLElement} parent
 * @param {Detail} detail
 * @param {Rights} [rights]
 */
export function drawVerbs(parent, { namespace, name, offers, rollout }, rights) {
  const isAwaited = rollout?.phase === 'AwaitingApproval' || rollout?.nextCommit !== undefined;
  const hadFocus = parent.contains(document.activeElement);
  keep(parent, offers, {
    key: (verb) => verb,
    make: (verb) =>
      h('button', { type: 'button', onclick: () => openDialog({ verb, namespace, name }) }, WORDS[verb].label),
    update: (button, verb) => {
      button.classList.toggle('primary', verb === 'approve' && isAwaited);
      const isDenied = (verb === 'approve' ? rights?.mayApprove : rights?.mayChange) === false;
      setAttribute(button, 'aria-disabled', isDenied && 'true');
      setAttribute(button, 'aria-describedby', isDenied && 'rights');
    },
  });
  if (hadFocus && !parent.contains(document.activeElement)) focusVerb();
}

/** Explains which roles the caller lacks. @param {Detail} detail @param {Rights} [rights] */
export function rightsWords({ namespace, offers }, rights) {
  if (!rights) return '';
  const { mayChange, mayApprove } = rights;
  const place = `in the namespace ${namespace}`;
  const isApprovable = offers.includes('approve');
  const approvers = isApprovable && !mayApprove ? `To approve releases, request the role …-approvers ${place}.` : '';
  if (mayChange) return approvers;
  const access = mayApprove ? 'You can only read and approve' : 'You have read-only access';
  return `${access}: to make changes, request the role edit ${place}. ${approvers}`.trimEnd();
}

/** Focuses the button of a verb, or the one that replaced it. @param {Verb} [verb] */
function focusVerb(verb) {
  const buttons = /** @type {HTMLElement[]} */ ([...byId('verbs').children]);
  const button = buttons.find(({ dataset }) => dataset.key === verb) ?? buttons[0] ?? byId('main');
  button.focus({ preventScroll: true });
}

/** Subject of the dialog. Responses to earlier requests are ignored. @type {Wish | undefined} */
let current;

const dialog = () => /** @type {HTMLDialogElement} */ (byId('dialog'));

/** Requests the effect of a verb, and asks for confirmation. @param {Wish} wish */
export async function openDialog(wish) {
  current = wish;
  const element = dialog();
  fill(wish, { says: 'Checking the effect …' });
  if (!element.open) element.showModal();
  try {
    const { kind, says, place, ...rest } = /** @type {Proposal} */ (await ask('plan', wish));
    const { agreed, plan } = /** @type {{ agreed?: string, plan?: Plan }} */ (kind === 'change' ? rest : {});
    if (current === wish) fill(wish, { says, place, agreed, plan });
  } catch (error) {
    if (current === wish) fill(wish, { says: /** @type {Error} */ (error).message, isWrong: true });
  }
}

/** Restores the focus after the dialog; if the button is gone, the one in its place gets it. */
export function watchDialog() {
  dialog().addEventListener('close', () => {
    const { activeElement } = document;
    // The browser briefly keeps the focus in the closed dialog if the previous button is gone.
    if (activeElement !== document.body && !dialog().contains(activeElement)) return;
    focusVerb(current?.verb);
  });
}

/** @param {Wish} wish @param {string} agreed */
async function order(wish, agreed) {
  const button = /** @type {HTMLButtonElement} */ (byId('dialog-yes'));
  button.setAttribute('aria-disabled', 'true');
  byId('dialog-progress').textContent = 'Applying …';
  try {
    await ask('order', { ...wish, agreed });
    // A different dialog may be open by then.
    if (current === wish) dialog().close();
    byId('news').textContent = `${WORDS[wish.verb].title} ${wish.name}: done.`;
  } catch (error) {
    current = wish;
    fill(wish, { says: /** @type {Error} */ (error).message, isWrong: true, canAskAgain: true });
    if (!dialog().open) dialog().showModal();
  }
}

/**
 * @param {Wish} wish
 * @param {{ says: string, place?: string | undefined, agreed?: string | undefined, plan?: Plan | undefined, isWrong?: boolean, canAskAgain?: boolean }} about
 */
function fill(wish, { says, place, agreed, plan, isWrong = false, canAskAgain = false }) {
  const { label, title } = WORDS[wish.verb];
  const close = () => dialog().close();
  dialog().replaceChildren(
    h('h2', { id: 'dialog-title' }, `${title} `, h('bdi', {}, wish.name)),
    place ? h('p', { class: 'place' }, place) : '',
    h(
      'p',
      { id: 'dialog-says', class: isWrong ? 'says wrong' : 'says', role: isWrong ? 'alert' : undefined },
      readable(says),
    ),
    plan ? h('div', { class: 'plan' }, drawGroups(plan, { isFirstOpen: false })) : '',
    h('p', { id: 'dialog-progress', class: 'hint', role: 'status' }),
    h(
      'div',
      { class: 'actions' },
      h('button', { type: 'button', onclick: close, autofocus: true }, agreed ? 'Cancel' : 'Close'),
      canAskAgain && h('button', { type: 'button', onclick: () => openDialog(wish) }, 'Check again'),
      agreed &&
        h(
          'button',
          {
            type: 'button',
            class: wish.verb === 'rollback' ? 'danger' : 'primary',
            id: 'dialog-yes',
            onclick: (/** @type {MouseEvent} */ { currentTarget }) => {
              const isBusy = /** @type {Element} */ (currentTarget).getAttribute('aria-disabled') === 'true';
              if (!isBusy) void order(wish, agreed);
            },
          },
          label,
        ),
    ),
  );
  if (dialog().open) /** @type {HTMLElement | null} */ (dialog().querySelector('[autofocus]'))?.focus();
}
