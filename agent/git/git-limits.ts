import { getHeapStatistics } from 'node:v8';
import type { GitLimits } from '../../shared/io/git/git.ts';

/** What git and each of its helpers may take: V8's heap may take half of the container's memory; git gets as much. */
export const GIT_LIMITS = {
  memoryBytes: getHeapStatistics().heap_size_limit,
  remedy: 'set a larger spec.agent.resources.limits.memory and recreate the pod, or keep such files in Git LFS',
} satisfies GitLimits;
