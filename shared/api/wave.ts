import * as v from 'valibot';
import { BOUNDS } from './bounds.ts';
import { boundedKeys, cel, durationBetween, flag, list, map, name, object, oneOf, text } from './fields.ts';

/**
 * A number of at least 1, or a percentage, rounded up. A CEL rule isn't possible: Kubernetes 1.30 can't determine the
 * maximum length of the text, estimates too high a cost for the rule, and rejects the whole CRD.
 */
const amount = (description: string) =>
  v.pipe(
    v.any(),
    v.metadata({ 'x-kubernetes-int-or-string': true, maxLength: 16, minimum: 1, pattern: '^(100|[1-9][0-9]?)%$' }),
    v.description(`${description} At least 1, or 1% to 100%.`),
  );

const labelKey = name('Key of the label.', BOUNDS.resourceName);
const labelValue = text('Value of the label.', 63);

const selectorSchema = v.pipe(
  object('Label selector for pods. If omitted, all pods match.', {
    matchLabels: v.optional(
      v.pipe(
        map(labelValue, BOUNDS.selector, 'Labels that the pod must have, with these values.'),
        boundedKeys(BOUNDS.resourceName),
      ),
    ),
    matchExpressions: v.optional(
      list(
        v.object({
          key: labelKey,
          operator: oneOf(['In', 'NotIn', 'Exists', 'DoesNotExist'], 'Comparison of the label with the values.'),
          values: v.optional(list(labelValue, BOUNDS.selector, 'Values for In and NotIn.')),
        }),
        BOUNDS.selector,
        'Conditions on labels. The pod must meet all of them.',
      ),
    ),
  }),
  cel({
    rule: `(has(self.matchLabels) ? self.matchLabels.map(key, size(key) + size(self.matchLabels[key])).sum() : 0) + (has(self.matchExpressions) ? self.matchExpressions.map(each, size(each.key) + (has(each.values) ? each.values.map(value, size(value)).sum() : 0)).sum() : 0) <= ${BOUNDS.selectorLength}`,
    message: `keys and values must have at most ${BOUNDS.selectorLength} characters in total; shorten the selector`,
  }),
);

/** One of `spec.rollout.waves`. */
export const waveSchema = object('Group of gateways. A gateway belongs to the first wave that it matches.', {
  name: v.pipe(
    name('Name of the wave.', 63),
    cel({
      rule: `self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$') && self != 'rest'`,
      message:
        'must consist of lower-case letters, digits, and hyphens, begin and end with a letter or digit, and not be rest, the name of the last wave',
    }),
  ),
  selector: v.optional(selectorSchema),
  gateways: v.optional(
    amount(
      'Number or percentage of the matching gateways, such as 10%. A hash of the gateway name selects them, so they are always the same. If omitted, all of them.',
    ),
  ),
  maxConcurrent: v.optional(
    amount(
      'Maximum number or percentage of the gateways of the wave that are in progress at once. If omitted, all of them.',
    ),
  ),
  soak: v.optional(
    durationBetween(
      '0s',
      '168h',
      'Time for which all gateways of the wave must be verified before the next wave begins.',
    ),
  ),
  approval: v.optional(flag('Wait until a user approves the release and its changes, with kubectl stoker approve.')),
});

export type Wave = v.InferOutput<typeof waveSchema>;
export type LabelSelector = v.InferOutput<typeof selectorSchema>;
