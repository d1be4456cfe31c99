import type { Rendered } from '../render.ts';

/** What a value does: where it shows in the rendered objects, and what is there once it is set. */
export interface Effect {
  /** Another value than the default. */
  to: unknown;
  /** Reads what the value changes; gives undefined where that does not exist. */
  in: (objects: Rendered[]) => unknown;
  /** What is read there with the value set; without it something else is. */
  is: unknown;
  /** Further values, by their dotted path, that both renderings share. */
  given?: Record<string, unknown>;
}

/** Effects by the dotted path of their value. */
export type Effects = Record<string, Effect>;

/** Reads something of the first object of a kind whose name ends as given; undefined without such an object. */
export function of(kind: string, suffix: string, read: (object: Rendered) => unknown): Effect['in'] {
  return (objects) => {
    const found = objects.find((object) => object.kind === kind && object.metadata.name.endsWith(suffix));
    return found && read(found);
  };
}

/** Counts the objects of a kind. */
export const count =
  (kind: string): Effect['in'] =>
  (objects) =>
    objects.filter((object) => object.kind === kind).length;

/** Effects that the programs' Deployments show. */
export function onDeployment(suffix: string) {
  const read = (reading: (object: Rendered) => unknown) => of('Deployment', suffix, reading);
  return {
    spec: (name: string) => read(({ spec }) => spec[name]),
    metadata: (name: string, key: string) => read(({ spec }) => spec.template.metadata[name][key]),
    pod: (name: string) => read(({ spec }) => spec.template.spec[name]),
    container: (name: string) => read(({ spec }) => spec.template.spec.containers[0][name]),
    env: (name: string) => read(({ spec }) => variableOf(spec.template.spec.containers[0].env, name)),
  };
}

function variableOf(env: { name: string; value?: string }[], name: string): unknown {
  const variable = env.find((each) => each.name === name);
  return variable && 'value' in variable ? variable.value : variable;
}
