import { type Answer, answerSchema, INSPECTION } from '../api/inspection.ts';
import { omit } from '../domain/text/objects.ts';
import { readJson } from '../domain/text/read-json.ts';
import { open, type QuestionKeys, seal } from './sealed-box.ts';

/** Maximum size of a response as JSON (bytes). */
const MAX_JSON_BYTES = 32 * 1024 * 1024;
const JSON_BOUNDS = { depth: 8, parts: 200_000 };

/**
 * Seals a response. If it's too large, drops the content of the last files first, then the last files. Throws for an
 * invalid public key.
 */
export async function sealAnswer(answer: Answer, box: { to: string; about: string }): Promise<string> {
  for (let fitting = answer; ; fitting = withLess(fitting)) {
    const sealed = await seal(Buffer.from(JSON.stringify(fitting)), box);
    if (sealed.length <= INSPECTION.sealed) return sealed;
  }
}

/** Drops the content of half of the files that have some, or else half of the files. */
function withLess({ changes, more, ...rest }: Answer): Answer {
  const shown = changes.filter(hasText);
  if (shown.length === 0) {
    const half = Math.floor(changes.length / 2);
    return { ...rest, changes: changes.slice(0, half), more: more + changes.length - half };
  }
  const kept = new Set(shown.slice(0, Math.floor(shown.length / 2)));
  const less = changes.map((change) => (hasText(change) && !kept.has(change) ? withoutText(change) : change));
  return { ...rest, changes: less, more };
}

type Change = Answer['changes'][number];

const hasText = ({ before, after }: Change): boolean => before?.text !== undefined || after?.text !== undefined;

function withoutText({ before, after, ...change }: Change): Change {
  return {
    ...change,
    before: before && omit(before, 'text'),
    after: after && omit(after, 'text'),
    leftOut: 'limit',
  };
}

/** Opens a response. Returns undefined if it's invalid, for other keys, or about something else. */
export async function openAnswer(
  sealed: string,
  box: { keys: QuestionKeys; about: string },
): Promise<Answer | undefined> {
  const json = await open(sealed, { ...box, maxBytes: MAX_JSON_BYTES });
  return json && readJson(answerSchema, json, JSON_BOUNDS);
}
