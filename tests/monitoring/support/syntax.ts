import type { SyntaxNode } from './start-prometheus.ts';

/** Labels and metrics that a query requires. */
export interface Assumptions {
  /** Metrics with the labels that they are selected by. */
  selectors: { metric: string; labels: string[] }[];
  /** Labels used to group or match series. */
  labels: string[];
}

/** Walks the syntax tree of a query. */
export function assumptionsOf(root: SyntaxNode): Assumptions {
  const nodes = [...nodesOf(root)];
  return {
    selectors: nodes.filter(isSelector).map(({ name, matchers }) => ({
      metric: name as string,
      labels: (matchers as { name: string }[]).map((matcher) => matcher.name).filter((label) => label !== '__name__'),
    })),
    labels: nodes.flatMap(({ grouping, matching }) => [
      ...((grouping as string[] | undefined) ?? []),
      ...((matching as { labels: string[] } | null | undefined)?.labels ?? []),
    ]),
  };
}

const isSelector = ({ type }: SyntaxNode) => type === 'vectorSelector' || type === 'matrixSelector';

function* nodesOf(value: unknown): Generator<SyntaxNode> {
  if (typeof value !== 'object' || value === null) return;
  if ('type' in value) yield value as SyntaxNode;
  for (const below of Object.values(value)) yield* nodesOf(below);
}
