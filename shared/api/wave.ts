import * as v from 'valibot';
import { BOUNDS } from './bounds.ts';
import { boundedKeys, cel, durationBetween, name, text } from './fields.ts';

/**
 * A number of at least 1, or a share of those that it is about, rounded up. Not by a rule in CEL:
 * Kubernetes 1.30 does not see how long the text can be, takes the rule for too costly, and refuses the whole CRD.
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
  v.object({
    matchLabels: v.optional(
      v.pipe(
        v.record(v.string(), labelValue),
        v.maxEntries(BOUNDS.selector),
        boundedKeys(BOUNDS.resourceName),
        v.description('Labels that the pod must have, with these values.'),
      ),
    ),
    matchExpressions: v.optional(
      v.pipe(
        v.array(
          v.object({
            key: labelKey,
            operator: v.pipe(
              v.picklist(['In', 'NotIn', 'Exists', 'DoesNotExist']),
              v.description('How the label is compared with the values.'),
            ),
            values: v.optional(
              v.pipe(v.array(labelValue), v.maxLength(BOUNDS.selector), v.description('For In and NotIn.')),
            ),
          }),
        ),
        v.maxLength(BOUNDS.selector),
        v.description('Conditions on labels, all of which the pod must meet.'),
      ),
    ),
  }),
  cel({
    rule: `(has(self.matchLabels) ? self.matchLabels.map(key, size(key) + size(self.matchLabels[key])).sum() : 0) + (has(self.matchExpressions) ? self.matchExpressions.map(each, size(each.key) + (has(each.values) ? each.values.map(value, size(value)).sum() : 0)).sum() : 0) <= ${BOUNDS.selectorLength}`,
    message: `must have at most ${BOUNDS.selectorLength} characters in all keys and values together`,
  }),
  v.description('Which pods, by their labels.'),
);

/** One of `spec.rollout.waves`. */
export const waveSchema = v.pipe(
  v.object({
    name: v.pipe(
      name('Name of the wave.', 63),
      cel({
        rule: `self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$') && self != 'rest'`,
        message: 'must be of lower-case letters, digits and hyphens, and not be rest: that one is always the last',
      }),
    ),
    selector: v.optional(selectorSchema),
    gateways: v.optional(
      amount(
        'How many of the gateways that fit, a number or a share such as 10%: always the same ones, chosen by a hash of the gateway name. Left out: all of them.',
      ),
    ),
    maxConcurrent: v.optional(
      amount(
        'How many gateways of the wave may be under way at once, a number or a share of the wave. Left out: all of them.',
      ),
    ),
    soak: v.optional(
      durationBetween(
        '0s',
        '168h',
        'Time for which all of the wave must have been verified before the next one begins.',
      ),
    ),
    approval: v.optional(
      v.pipe(
        v.boolean(),
        v.description('Whether the wave waits until somebody approves the commit with the annotation sync.io/approve.'),
      ),
    ),
  }),
  v.description('Some of the gateways. A gateway belongs to the first wave that fits.'),
);

export type Wave = v.InferOutput<typeof waveSchema>;
export type LabelSelector = v.InferOutput<typeof selectorSchema>;
