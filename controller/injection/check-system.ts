import { POD_ANNOTATIONS } from '../../shared/api/names.ts';
import type { AdmittedPod, NodeRequirement } from './admitted-pod.ts';

/** Checks that a pod can run on Linux, and returns the problem if it can't. */
export function checkSystem({ spec }: AdmittedPod): string | undefined {
  const field = fieldWithoutLinux(spec);
  return field
    ? `the agent runs on Linux only, but ${field} excludes Linux; remove the annotation ${POD_ANNOTATIONS.inject} from this pod`
    : undefined;
}

/** Returns the field that excludes nodes with Linux. */
function fieldWithoutLinux({ os, nodeSelector = {}, affinity }: AdmittedPod['spec']): string | undefined {
  if (os && os.name !== 'linux') return 'spec.os.name';
  const selected = Object.entries(nodeSelector).map(([key, value]) => ({ key, operator: 'In', values: [value] }));
  const selector = selected.find(excludesLinux);
  if (selector) return `nodeSelector ${selector.key}`;
  const terms = affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms ?? [];
  // One term is enough for a node, and a term without conditions matches none.
  const effective = terms.filter(
    ({ matchExpressions = [], matchFields = [] }) => matchExpressions.length + matchFields.length > 0,
  );
  const excluding = effective.map(({ matchExpressions = [] }) => matchExpressions.find(excludesLinux)?.key);
  return excluding.every((key) => key !== undefined) && excluding[0] ? `nodeAffinity ${excluding[0]}` : undefined;
}

/** Labels of the operating system; https://kubernetes.io/docs/reference/labels-annotations-taints/#kubernetes-io-os. */
const OS_LABELS = ['kubernetes.io/os', 'beta.kubernetes.io/os'];
/** Nodes with Windows have this label, and no others do. */
const WINDOWS_LABEL = 'node.kubernetes.io/windows-build';

function excludesLinux({ key, operator, values = [] }: NodeRequirement): boolean {
  if (key === WINDOWS_LABEL) return operator !== 'NotIn' && operator !== 'DoesNotExist';
  if (!OS_LABELS.includes(key)) return false;
  return (operator === 'In' && !values.includes('linux')) || (operator === 'NotIn' && values.includes('linux'));
}
