import * as v from 'valibot';
import { NO_REPOSITORY, type RequestSource } from '../../shared/api/names.ts';
import { isValidRefName } from '../../shared/domain/git/check-ref-name.ts';
import type { Classified, DeliveryHeaders, NothingReason, Reading } from './delivery.ts';
import type { JsonObject } from './json-object.ts';
import { recordedRepository } from './recorded-repository.ts';
import { refProblem } from './ref-problem.ts';
import type { NameRepository } from './repositories.ts';

/** Reads one kind of event. */
export type ReadEvent = (body: JsonObject) => Reading;

/** Reads a delivery of one sender; undefined if it's from another sender. */
export type ReadSender = (headers: DeliveryHeaders, body: JsonObject) => Classified | undefined;

/** A field that senders omit or send as null. */
export const text = v.nullish(v.string());
export const flag = v.nullish(v.boolean());
/** A minor field that is ignored if it has another type. */
export const looseText = v.fallback(text, undefined);

/** Reads a body that matches the schema. The error for other bodies names the field and contains no sent value. */
export function event<TSchema extends v.GenericSchema>(
  schema: TSchema,
  read: (payload: v.InferOutput<TSchema>) => Reading,
): ReadEvent {
  return (body) => {
    const { success, output, issues } = v.safeParse(schema, body, { abortEarly: true });
    return success ? read(output) : { kind: 'invalid', reason: 'InvalidPayload', error: describe(issues[0]) };
  };
}

function describe(issue: v.BaseIssue<unknown>): string {
  return `${v.getDotPath(issue) ?? 'the body'}: ${issue.expected ?? 'another value'} is expected`;
}

/** Adds the sender and the repository to the reading of an event. */
export function sender(
  source: RequestSource,
  read: (headers: DeliveryHeaders, body: JsonObject) => Reading | undefined,
  nameRepository: NameRepository = () => ({}),
): ReadSender {
  return (headers, body) => {
    const reading = read(headers, body);
    return reading && { ...about(recordedRepository(nameRepository(body)), reading), source };
  };
}

/** Adds the repository, in its recorded form, to an intent. A name over the limit can't be the resource's own. */
export function about(repository: string | undefined, reading: Reading): Reading {
  if (reading.kind !== 'request' && reading.kind !== 'push') return reading;
  if (repository === undefined) return nothing('OtherRepository');
  return repository === NO_REPOSITORY ? reading : { ...reading, repository };
}

/** Adds the time of the event to an intent, if it is known. */
export function madeAt(time: number | undefined, reading: Reading): Reading {
  const isIntent = reading.kind === 'request' || reading.kind === 'push';
  return isIntent && time !== undefined ? { ...reading, madeAt: time } : reading;
}

/** Reads the event specified in a header; undefined if the header is missing or empty. */
export function readNamed(
  events: Readonly<Record<string, ReadEvent>>,
  name: string | undefined,
  body: JsonObject,
): Reading | undefined {
  if (!name) return undefined;
  const read = Object.hasOwn(events, name) ? events[name] : undefined;
  return read ? read(body) : nothing('EventIgnored');
}

const BRANCH_PREFIX = 'refs/heads/';

/**
 * Returns the intent for a ref: a push for the full name of a branch, and a request for any other ref (a tag, a short
 * name, a commit).
 */
export function asksFor(ref: string | null | undefined): Reading {
  if (ref === undefined || ref === null) return nothing('NoRef');
  if (!isValidRefName(ref)) {
    return { kind: 'invalid', reason: 'InvalidRef', error: refProblem(ref) };
  }
  return { kind: ref.startsWith(BRANCH_PREFIX) ? 'push' : 'request', ref };
}

export function nothing(reason: NothingReason): Reading {
  return { kind: 'nothing', reason };
}
