import { fieldOf, type JsonObject } from './json-object.ts';

/** Whether a push removed its ref: git hosts say so by a flag, or by the null commit as what the ref is afterwards. */
export function isDeletion(body: JsonObject): boolean {
  const after = fieldOf(body, 'after');
  return fieldOf(body, 'deleted') === true || (typeof after === 'string' && /^(?:0{40}|0{64})$/.test(after));
}
