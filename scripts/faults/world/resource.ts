import type { GatewaySync } from '../../../shared/api/gateway-sync.ts';
import { API_VERSION, GATEWAY_SYNC } from '../../../shared/api/group.ts';
import { gatewaySyncPath } from '../../../shared/io/kubernetes/resource-path.ts';
import { Intents } from '../intents.ts';
import { type KnownRepository, type Mapping, syncSpecOf } from './files.ts';

interface ResourceOptions {
  namespace: string;
  name: string;
  known: KnownRepository;
  /** Laid over the spec. */
  spec: object;
  /** Laid over `spec.git`. */
  git?: object;
}

/** A GatewaySync, with what people and git hosts did to it. */
export class Resource {
  readonly namespace: string;
  readonly name: string;
  readonly known: KnownRepository;
  readonly #options: ResourceOptions;
  readonly intents = new Intents('main');
  mapping: Mapping = { hasExtra: false, excludes: false };
  /** What `spec.git.ref` is. */
  ref = 'main';
  /** Index of the tip of main that was there when main was last asked for: it, or a later one, must be followed. */
  leastTip = 0;

  constructor(options: ResourceOptions) {
    this.namespace = options.namespace;
    this.name = options.name;
    this.known = options.known;
    this.#options = options;
  }

  get path(): string {
    return gatewaySyncPath(this.namespace, this.name);
  }

  /** The object as somebody applies it at first. */
  manifest() {
    // A server that goes silent would hold up a fetch for five minutes.
    const git = { repo: this.known.repository.url, ref: this.ref, timeout: '1m', ...this.#options.git };
    const spec = { git, sync: syncSpecOf(this.mapping), ...this.#options.spec };
    return {
      apiVersion: API_VERSION,
      kind: GATEWAY_SYNC.kind,
      metadata: { name: this.name, namespace: this.namespace },
      spec,
    };
  }

  /** The commits one of which must be followed once all has settled. */
  possibleCommits(): string[] {
    return this.intents.possible().flatMap((ref) => {
      if (ref === 'main') return this.known.tips.slice(this.leastTip);
      return this.known.tags.get(ref) ?? [];
    });
  }

  /** Somebody heard that main is looked up: what it is now, or something later, must be followed. */
  mainWasAskedFor(tip: number): void {
    this.leastTip = Math.max(this.leastTip, tip);
  }
}

/** What a resource's condition says. */
export const conditionOf = ({ status }: GatewaySync, type: string) =>
  status?.conditions?.find((condition) => condition.type === type);
