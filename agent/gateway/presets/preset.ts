import type { Logger } from '../../../shared/log.ts';
import type { SpecRequest } from '../complete-request.ts';
import type { CallLimits, GatewayClient } from '../gateway-client.ts';

/** What a preset works with. The limits apply to each call. */
export interface PresetScope extends CallLimits {
  client: GatewayClient;
  log: Logger;
}

/** Paths in the data volume. */
export interface DeliveredPaths {
  /** Of all delivered files. */
  delivered: Iterable<string>;
  /** Of the files and links that change. */
  changed: readonly string[];
}

/** Knowledge about a product, in addition to `reload.requests`, which work for every gateway. */
export interface Preset {
  /** Returns whether the gateway gets its files from another gateway instead; undefined if it didn't respond. */
  isStandby?(scope: PresetScope): Promise<boolean | undefined>;
  /** Returns the users who are editing what changes, one short line each. Throws the client's errors. */
  listEditors?(scope: PresetScope, paths: DeliveredPaths): Promise<string[]>;
  /**
   * Keeps the gateway from reading files until the next `reload` or `endHold`, for a minute at most. Returns why it could
   * read them nevertheless. Throws only the reason of the signal.
   */
  holdReads?(scope: PresetScope): Promise<string | undefined>;
  /** Lets the gateway read files again. Throws the client's errors. */
  endHold?(scope: PresetScope): Promise<void>;
  /**
   * Notifies the gateway that its files changed, and returns notes for the report; `delivered` returns the paths of all
   * files. Throws the client's errors.
   */
  reload(scope: PresetScope, delivered: () => Promise<Iterable<string>>): Promise<string[]>;
  /** Calls that succeed on a healthy gateway. */
  checks: SpecRequest[];
}
