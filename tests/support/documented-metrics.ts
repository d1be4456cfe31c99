import { readFile } from 'node:fs/promises';
import path from 'node:path';
import type { Registry } from 'prom-client';

const page = path.join(import.meta.dirname, '../../docs/reference/metrics.md');

/** The properties of a metric that a dashboard or an alert uses. */
export interface MetricFacts {
  name: string;
  type: string;
  labels: string[];
  /** In seconds; of histograms. */
  buckets?: number[];
}

interface Registered {
  name: string;
  type: string;
  labelNames: readonly string[];
  buckets?: readonly number[];
}

const byName = (a: MetricFacts, b: MetricFacts) => (a.name < b.name ? -1 : 1);

/** Returns the metrics with a prefix from docs/reference/metrics.md, in alphabetical order. */
export async function documentedMetrics(prefix: string): Promise<MetricFacts[]> {
  const text = await readFile(page, 'utf8');
  const bucketsOf = new Map(
    [...text.matchAll(/^\| `(\w+)` \| ([\d., ]+) \|$/gm)].map(([, name, list = '']) => [
      name,
      list.split(', ').map(Number),
    ]),
  );
  return [...text.matchAll(/^\| `(\w+)` \| (counter|gauge|histogram) \|([^|]*)\|/gm)]
    .map(([, name = '', type = '', labels = '']) => {
      const buckets = bucketsOf.get(name);
      return {
        name,
        type,
        labels: [...labels.matchAll(/`(\w+)`/g)].map(([, label = '']) => label),
        ...(buckets && { buckets }),
      };
    })
    .filter(({ name }) => name.startsWith(prefix))
    .sort(byName);
}

/** Returns the same for the metrics in a registry. */
export function registeredMetrics(prefix: string, registry: Registry): MetricFacts[] {
  return (registry.getMetricsAsArray() as unknown as Registered[])
    .filter(({ name }) => name.startsWith(prefix))
    .map(({ name, type, labelNames, buckets }) => ({
      name,
      type,
      labels: [...labelNames],
      ...(buckets && { buckets: [...buckets] }),
    }))
    .sort(byName);
}
