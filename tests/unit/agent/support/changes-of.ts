import type { Plan } from '../../../../agent/plan/plan-changes.ts';

export const changesOf = ({ changes }: Pick<Plan, 'changes'>): string[] =>
  changes.map(({ kind, path, reason }) => `${kind} ${path} ${reason}`);

export const pathsOf = ({ changes }: Pick<Plan, 'changes'>): string[] => changes.map(({ path }) => path).sort();
