import type { GatewaySync } from '../../../shared/api/gateway-sync.ts';
import { API_VERSION, GATEWAY_SYNC } from '../../../shared/api/group.ts';
import { gatewaySyncPath } from '../../../shared/io/kubernetes/resource-path.ts';
import { Intents } from '../intents.ts';
import { type KnownRepository, type Mapping, syncSpecOf } from './files.ts';

interface ResourceOptions {
  namespace: string;
  name: string;
  known: KnownRepository;
  /** Merged into the spec. */
  spec: object;
  /** Merged into `spec.git`. */
  git?: object;
}

/** A GatewaySync, with the changes that users and git servers made. */
export class Resource {
  readonly namespace: string;
  readonly name: string;
  readonly known: KnownRepository;
  readonly #options: ResourceOptions;
  readonly intents = new Intents('main');
  mapping: Mapping = { hasExtra: false, excludes: false };
  /** Value of `spec.git.ref`. */
  ref = 'main';
  /** Index of the tip of main when main was last requested: gateways must follow it or a later one. */
  minTip = 0;

  constructor(options: ResourceOptions) {
    this.namespace = options.namespace;
    this.name = options.name;
    this.known = options.known;
    this.#options = options;
  }

  get path(): string {
    return gatewaySyncPath(this.namespace, this.name);
  }

  /** Returns the object as it is first applied. */
  manifest() {
    // A silent server would block a fetch for five minutes.
    const git = { repo: this.known.repository.url, ref: this.ref, timeout: '1m', ...this.#options.git };
    const spec = { git, sync: syncSpecOf(this.mapping), ...this.#options.spec };
    const metadata = { name: this.name, namespace: this.namespace };
    return { apiVersion: API_VERSION, kind: GATEWAY_SYNC.kind, metadata, spec };
  }

  /** Returns the commits of which one must be followed once everything has settled. */
  possibleCommits(): string[] {
    return this.intents.possible().flatMap((ref) => {
      if (ref === 'main') return this.known.tips.slice(this.minTip);
      return this.known.tags.get(ref) ?? [];
    });
  }

  /** Records that main was requested: its current tip, or a later one, must be followed. */
  mainWasAskedFor(tip: number): void {
    this.minTip = Math.max(this.minTip, tip);
  }
}

/** Returns a condition of a resource. */
export const conditionOf = ({ status }: GatewaySync, type: string) =>
  status?.conditions?.find((condition) => condition.type === type);
