import { createHash } from 'node:crypto';
import { omit, withoutUndefined } from '../../shared/domain/text/objects.ts';
import type { AnswerView, Askable, ChangeView, InspectionView } from './inspection.ts';
import { type Changes, type Fate, type GatewayInPlan, type PlanView, planView } from './plan-view.ts';
import { changeText } from './plan-words.ts';

/** Creates the plan of a ref from the responses of agents. `waves` are the names of all waves, in order. */
export function planOfAnswers(
  { namespace, name, ref, total, answers, silent }: InspectionView,
  { gateways, waves }: { gateways: readonly Askable[]; waves: readonly string[] },
): PlanView {
  const known = new Map(gateways.map((gateway) => [gateway.pod, gateway]));
  const placed = ({ gateway, pod }: { gateway: string; pod: string }): GatewayInPlan => {
    const { profile, wave } = known.get(pod) ?? {};
    return withoutUndefined({ gateway, pod, profile, wave });
  };
  const changesOf = changesByAnswer();
  const planned = [
    ...answers.map((answer) => ({ gateway: placed(answer), fate: fateOf(answer, changesOf) })),
    ...silent.map((each) => ({ gateway: placed(each), fate: { kind: 'silent' as const, why: each.why } })),
  ];
  const commit = answers.find((answer) => answer.commit)?.commit;
  const sampledFrom = planned.length < total ? total : undefined;
  const isPlaced = planned.every(({ gateway }) => gateway.wave !== undefined);
  return planView(
    withoutUndefined({ namespace, name, ref, commit, sampledFrom }),
    planned,
    isPlaced && waves.length > 0 ? waves : undefined,
  );
}

/** Maximum changes listed for a group of gateways; the plan counts the others. */
const LISTED = 100;

type ChangesOf = (answer: AnswerView) => Changes;

function fateOf(answer: AnswerView, changesOf: ChangesOf): Fate {
  const { problem, changes, more } = answer;
  if (problem) return { kind: 'failing', why: problem };
  return changes.length + more === 0 ? { kind: 'unchanged' } : { kind: 'changed', changes: changesOf(answer) };
}

/** Summarizes each distinct response once: identical ones share their list of changes. */
function changesByAnswer(): ChangesOf {
  const known = new Map<readonly ChangeView[], Changes>();
  return ({ changes, more }) => {
    const found = known.get(changes) ?? summarize(changes, more);
    known.set(changes, found);
    return found;
  };
}

/** The same content can have another source on each gateway. Without a diff, the source identifies the content. */
const contentOf = (change: ChangeView): ChangeView => (change.diff === undefined ? change : omit(change, 'source'));

function summarize(changes: readonly ChangeView[], more: number): Changes {
  const count = (kind: ChangeView['kind']) => changes.filter((change) => change.kind === kind).length;
  return {
    digest: createHash('sha256')
      .update(JSON.stringify([changes.map(contentOf), more]))
      .digest('hex'),
    files: changes.length + more,
    added: count('add'),
    modified: count('modify'),
    deleted: count('delete'),
    paths: changes.slice(0, LISTED).map(changeText),
  };
}
