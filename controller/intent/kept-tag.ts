import { isSameRepository } from '../../shared/domain/git/repository.ts';
import { isSameRange } from '../../shared/domain/git/spec-ref.ts';
import type { ObservedGatewaySync } from '../watch/observed-gateway-sync.ts';

/** The tag that the status names for this range and repository. */
export function keptTag({ spec: { git }, status }: Pick<ObservedGatewaySync, 'spec' | 'status'>): string | undefined {
  const { target, observedRepo } = status;
  const isSame = observedRepo === undefined || isSameRepository(observedRepo, git.repo);
  return git.semver !== undefined && target && isSameRange(target, git) && isSame ? target.ref : undefined;
}
