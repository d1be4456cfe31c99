interface Selector {
  matchLabels?: Readonly<Record<string, string>> | undefined;
  matchExpressions?: readonly Expression[] | undefined;
}

interface Expression {
  key: string;
  operator: string;
  values?: readonly string[] | undefined;
}

/**
 * Checks whether labels match a selector; an empty one matches all
 * (https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/).
 */
export function fitsSelector(
  { matchLabels = {}, matchExpressions = [] }: Selector = {},
  labels: ReadonlyMap<string, string>,
): boolean {
  const hasLabels = Object.entries(matchLabels).every(([key, value]) => labels.get(key) === value);
  return hasLabels && matchExpressions.every((expression) => fitsExpression(expression, labels.get(expression.key)));
}

function fitsExpression({ operator, values = [] }: Expression, value: string | undefined): boolean {
  if (operator === 'In') return value !== undefined && values.includes(value);
  if (operator === 'NotIn') return value === undefined || !values.includes(value);
  return operator === 'Exists' ? value !== undefined : value === undefined;
}
