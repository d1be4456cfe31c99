import type { KubernetesClient } from '../../../shared/io/kubernetes/client.ts';
import type { Logger } from '../../../shared/log.ts';
import type { ObservedGatewaySync } from '../../watch/observed-gateway-sync.ts';
import { EventLimiter, eventOf, writeEvent } from './record-event.ts';
import type { Transition } from './status-transitions.ts';

export interface EventRecorderOptions {
  client: KubernetesClient;
  /** Whether this process can write. */
  mayWrite: () => boolean;
  /** Called for every transition, for metrics. */
  onTransition: (reason: string) => void;
  /** Name of this replica. */
  instance: string;
  log: Logger;
}

/** Logs each transition, and writes it as an event. */
export class EventRecorder {
  readonly #options: EventRecorderOptions;
  readonly #limiter = new EventLimiter();

  constructor(options: EventRecorderOptions) {
    this.#options = options;
  }

  /** Doesn't wait for the events, which are written one by one in order. */
  record(gatewaySync: ObservedGatewaySync, transitions: Transition[], log = this.#logOf(gatewaySync)): void {
    const { client, instance, mayWrite, onTransition } = this.#options;
    const { namespace, name } = gatewaySync;
    let recorded: Promise<void> = Promise.resolve();
    for (const transition of transitions) {
      const { type, reason, message, pod } = transition;
      onTransition(reason);
      log[type === 'Warning' ? 'warn' : 'info']({ reason, detail: message, pod: pod?.name }, 'transition');
      if (!mayWrite() || !this.#limiter.take(`${namespace}/${name}`, performance.now())) continue;
      const event = eventOf(gatewaySync, { transition, instance });
      recorded = recorded
        .then(() => writeEvent(client, event, { mayWrite }))
        .catch((error: unknown) => log.warn({ err: error, reason }, 'event not recorded'));
    }
  }

  #logOf({ namespace, name }: ObservedGatewaySync): Logger {
    return this.#options.log.child({ namespace, name });
  }
}
