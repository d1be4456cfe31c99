import type { RequestSource } from '../../shared/api/names.ts';

/** Reasons why an authentic delivery requests nothing, for responses and a metric's label. */
export const NOTHING_REASONS = [
  'Ping',
  'Deleted',
  'Draft',
  'NotPublished',
  'EventIgnored',
  'NotABranchOrTag',
  'NoRef',
  'OtherEvent',
  'OtherRepository',
] as const;

export type NothingReason = (typeof NOTHING_REASONS)[number];

/** Intent of an event. Some git servers report several refs at once, so a request can include a push. */
export type WebhookIntent = (
  | { kind: 'request'; ref: string; pushedRef?: string; senderReason?: string }
  | { kind: 'push'; ref: string; senderReason?: string }
) & {
  /** The repository, as `recordedRepository` gives it. Absent if the payload names none. */
  repository?: string;
  /** Time of the event (ms since the epoch). Absent if the payload doesn't state it. */
  madeAt?: number;
  /** Tried in this order if `repository` isn't the resource's own. */
  alternatives?: readonly WebhookIntent[];
};

/** Meaning of an event: a request for a ref, a push to a branch (`refs/heads/…`), nothing, or invalid. */
export type Reading =
  | WebhookIntent
  | { kind: 'nothing'; reason: NothingReason }
  | { kind: 'invalid'; reason: 'InvalidRef' | 'InvalidPayload' | 'UnknownPayload'; error: string };

/** A reading and its sender. */
export type Delivery = Reading & { source: RequestSource };

/** Headers by lower-case name; repeated ones are joined with commas. */
export type DeliveryHeaders = Readonly<Record<string, string | undefined>>;
