import { getHeapStatistics } from 'node:v8';
import type { GitLimits } from '../../shared/io/git/git.ts';

/** Memory limit of git and each of its helpers: as much as V8's heap, which is half of the container's memory. */
export const GIT_LIMITS = {
  memoryBytes: getHeapStatistics().heap_size_limit,
  remedy: 'set a larger spec.agent.resources.limits.memory and recreate the pod, or keep such files in Git LFS',
} satisfies GitLimits;
