import { randomBytes } from 'node:crypto';
import path from 'node:path';
import { until } from '../../support/until.ts';
import { getJson, helm, imageOf } from './cluster.ts';

/** An installation of the chart with the images under test, in its own namespace. */
export interface Release {
  name: string;
  namespace: string;
  /** Name of the chart's objects, before their suffix. */
  fullName: string;
  /** Installs or upgrades to these values and the images under test. Waits for ready pods and the end of previous pods. */
  install(values?: Record<string, unknown>): Promise<void>;
  /** Uninstalls the release, if it is installed, and waits. */
  uninstall(): Promise<void>;
}

const chart = path.join(import.meta.dirname, '../../../chart');

/** Returns a release with an unused name; its namespace has to be created. */
export function newRelease(): Release {
  const name = `e2e-${randomBytes(3).toString('hex')}`;
  const namespace = `${name}-system`;
  return {
    name,
    namespace,
    fullName: `${name}-stoker-operator`,
    install: async (values = {}) => {
      const flags = flagsOf({ ...imagesUnderTest(), certManager: { enabled: false }, ...withReceiverImage(values) });
      // The CRDs that an earlier release kept still name that release.
      const how = ['--install', '--take-ownership', '--wait', '--timeout=180s'];
      await helm('upgrade', name, chart, '--namespace', namespace, ...how, ...flags);
      await until(() => endingPods(namespace), {
        describe: 'the pods of before to be gone',
        timeout: 60_000,
        interval: 500,
        accept: (pods) => pods.length === 0,
      });
    },
    uninstall: async () => {
      await helm('uninstall', name, '--namespace', namespace, '--ignore-not-found', '--wait', '--timeout=120s');
    },
  };
}

/** Lists terminating pods: for some seconds, they still respond and a Service can still route to them. */
async function endingPods(namespace: string): Promise<string[]> {
  const { items } = await getJson<PodList>('pods', '--namespace', namespace);
  return items.flatMap(({ metadata }) => (metadata.deletionTimestamp ? [metadata.name] : []));
}

interface PodList {
  items: { metadata: { name: string; deletionTimestamp?: string } }[];
}

const imagesUnderTest = () => ({ image: imageOf('controller'), agentImage: imageOf('agent') });

function withReceiverImage({ webhookReceiver, ...values }: Record<string, unknown>): Record<string, unknown> {
  return webhookReceiver ? { ...values, webhookReceiver: { image: imageOf('receiver'), ...webhookReceiver } } : values;
}

const flagsOf = (values: object) =>
  Object.entries(values).map(([key, value]) => `--set-json=${key}=${JSON.stringify(value)}`);
