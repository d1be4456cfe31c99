import type { RequestSource } from '../../shared/api/names.ts';

/** Why an authentic delivery asks for nothing; part of the answer and of a metric's labels. */
export const NOTHING_REASONS = [
  'Ping',
  'Deleted',
  'Draft',
  'NotPublished',
  'EventIgnored',
  'NotABranchOrTag',
  'NoRef',
  'OtherRepository',
] as const;

export type NothingReason = (typeof NOTHING_REASONS)[number];

/** What an event asks for. Some hosts report several refs at once: a request may come with a push next to it. */
export type WebhookIntent = (
  | { kind: 'request'; ref: string; pushedRef?: string; senderReason?: string }
  | { kind: 'push'; ref: string; senderReason?: string }
) & {
  /** The repository, as `recordedRepository` gives it. Absent if the payload names none. */
  repository?: string;
  /** Tried in this order if `repository` isn't the resource's own. */
  alternatives?: readonly WebhookIntent[];
};

/** What an event means: a request to move, a push to a branch (`refs/heads/…`), nothing, or nonsense. */
export type Reading =
  | WebhookIntent
  | { kind: 'nothing'; reason: NothingReason }
  | { kind: 'invalid'; reason: 'InvalidRef' | 'InvalidPayload' | 'UnknownPayload'; error: string };

/** A reading, and who sent it. */
export type Delivery = Reading & { source: RequestSource };

/** Headers by lower-case name; those that came several times are joined by commas. */
export type DeliveryHeaders = Readonly<Record<string, string | undefined>>;
