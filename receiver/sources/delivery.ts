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

/** A request for a ref, or a push to a branch (`refs/heads/…`). An event with several refs is a request with a push. */
export type Delivery = (
  | { kind: 'request'; ref: string; pushedRef?: string; senderReason?: string }
  | { kind: 'push'; ref: string; senderReason?: string }
) & {
  /** The repository, as `recordedRepository` gives it. Absent if the payload names none. */
  repository?: string;
  /** Time of the event (ms since the epoch). Absent if the payload doesn't state it. */
  madeAt?: number;
  /** Tried in this order if `repository` isn't the resource's own. */
  alternatives?: readonly Delivery[];
};

/** Meaning of an event. */
export type Reading =
  | Delivery
  | { kind: 'nothing'; reason: NothingReason }
  | { kind: 'invalid'; reason: 'InvalidRef' | 'InvalidPayload' | 'UnknownPayload'; error: string };

/** Sender of a delivery, and the ID of its request, to which a suffix is appended. */
export interface Sender {
  source: RequestSource;
  requestId: string;
}

/** A reading and its sender. */
export type Classified = Reading & Pick<Sender, 'source'>;

/** Headers by lower-case name; repeated ones are joined with commas. */
export type DeliveryHeaders = Readonly<Record<string, string | undefined>>;
