import { freePort } from '../../scripts/testbed/free-port.ts';
import type { Recipe } from './recipe.ts';

/** In a cluster, each pod has its own address. Here, each has its own ports instead, and finds them in its labels. */
export interface PodPorts {
  labels: Record<string, string>;
  /** Returns a text with the ports of this pod. */
  insertInto(text: string): string;
}

const labelOf = (port: string) => `port-${port}`;

/** Matches all ports of the containers of a recipe. */
function portsOf({ template, spec }: Recipe): RegExp {
  const declared = template.spec.containers.flatMap(({ ports = [] }) => ports.map((port) => port.containerPort));
  return new RegExp(`\\b(?:${[...new Set([...declared, spec.gateway.port])].join('|')})\\b`, 'g');
}

/** Returns a template of a file, in which each pod gets its own ports. */
export const withPortLabels = (text: string, recipe: Recipe): string =>
  text.replaceAll(portsOf(recipe), (port) => `{{ .Labels.${labelOf(port)} }}`);

/** Finds free ports for one pod. */
export async function choosePorts(recipe: Recipe): Promise<PodPorts> {
  const pattern = portsOf(recipe);
  const chosen = new Map<string, string>();
  for (const [port] of pattern.source.matchAll(/\d+/g)) chosen.set(port, String(await freePort()));
  return {
    labels: Object.fromEntries([...chosen].map(([port, own]) => [labelOf(port), own])),
    insertInto: (text) => text.replaceAll(pattern, (port) => chosen.get(port) ?? port),
  };
}
