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
] as const;

export type NothingReason = (typeof NOTHING_REASONS)[number];

/** What a delivery means: a request to move, a push to a branch (`refs/heads/…`), nothing, or nonsense. */
export type Delivery =
  | Wanted
  | { kind: 'nothing'; reason: NothingReason; source: RequestSource }
  | { kind: 'invalid'; error: string; source: RequestSource };

/** What a delivery asks for. Some hosts tell of several refs at once: a request may come with a push beside it. */
export type Wanted =
  | { kind: 'request'; ref: string; source: RequestSource; pushedRef?: string; senderReason?: string }
  | { kind: 'push'; ref: string; source: RequestSource; senderReason?: string };

/** Headers by lower-case name; those that came several times are joined by commas. */
export type DeliveryHeaders = Readonly<Record<string, string | undefined>>;
