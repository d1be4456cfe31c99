import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { AdmittedPod } from '../../../../controller/injection/admitted-pod.ts';
import { checkSystem } from '../../../../controller/injection/check-system.ts';

type Spec = Partial<AdmittedPod['spec']>;

const problemOf = (spec: Spec) => checkSystem({ metadata: {}, spec: { containers: [], ...spec } });

const system = (operator: string, ...values: string[]) => ({ key: 'kubernetes.io/os', operator, values });
const windows = system('In', 'windows');
const build = (operator: string) => ({ key: 'node.kubernetes.io/windows-build', operator, values: ['10.0.20348'] });
const zone = { key: 'zone', operator: 'In', values: ['windows'] };
const byName = { matchFields: [{ key: 'metadata.name', operator: 'In', values: ['node'] }] };

/** Requires that a node fulfils one of these terms. */
const requiring = (...nodeSelectorTerms: object[]) =>
  ({ nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms } } }) as Spec['affinity'];
const terms = (...given: object[][]) => requiring(...given.map((matchExpressions) => ({ matchExpressions })));

suite('a pod that cannot run on Linux is denied, and the message names the field', () => {
  const cases: [what: string, spec: Spec, place: string][] = [
    ['its system', { os: { name: 'windows' } }, 'spec.os.name'],
    ['the old label', { nodeSelector: { 'beta.kubernetes.io/os': 'windows' } }, 'nodeSelector beta.kubernetes.io/os'],
    ['a build of Windows', { nodeSelector: { [build('In').key]: '10.0.20348' } }, 'nodeSelector node.kubernetes.io/w'],
    ['its affinity for other systems', { affinity: terms([system('In', 'windows', 'darwin')]) }, 'nodeAffinity'],
    ['its aversion to Linux', { affinity: terms([zone, system('NotIn', 'linux')]) }, 'nodeAffinity'],
    ['the old label in its affinity', { affinity: terms([{ ...windows, key: 'beta.kubernetes.io/os' }]) }, 'beta'],
    ['its affinity for a build', { affinity: terms([build('In')]) }, 'windows-build'],
    ['its affinity for any build', { affinity: terms([build('Exists')]) }, 'windows-build'],
    ['all terms', { affinity: terms([windows], [system('NotIn', 'linux'), zone]) }, 'nodeAffinity'],
    ['a term with a name', { affinity: requiring({ matchExpressions: [windows], ...byName }) }, 'nodeAffinity'],
  ];
  for (const [what, spec, place] of cases)
    test(`because of ${what}`, () => {
      const problem = problemOf(spec) ?? '';
      assert.ok(problem.includes(place) && problem.includes('sync.io/inject'), problem);
    });
});

suite('a pod that can run on Linux', () => {
  const preferred = { nodeAffinity: { preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 1 }] } };
  const cases: [what: string, spec: Spec][] = [
    ['selects Linux', { os: { name: 'linux' }, nodeSelector: { 'kubernetes.io/os': 'linux', zone: 'windows' } }],
    ['accepts both systems', { affinity: terms([system('In', 'windows', 'linux')]) }],
    ['has a term without a system', { affinity: terms([windows], [zone]) }],
    ['has a term with only a name', { affinity: requiring({ matchExpressions: [windows] }, byName) }],
    ['excludes Windows', { affinity: terms([system('NotIn', 'windows')]) }],
    ['needs the label of a system', { affinity: terms([system('Exists')]) }],
    ['only prefers Windows', { affinity: preferred as Spec['affinity'] }],
    ['has no effective term', { affinity: requiring({}) }],
  ];
  for (const [what, spec] of cases) test(what, () => assert.equal(problemOf(spec), undefined));
});
