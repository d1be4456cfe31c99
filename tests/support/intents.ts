import assert from 'node:assert/strict';
import { type Intent, reloadSettings } from '../../agent/resource/judge-resource.ts';
import { resolveProfile } from '../../shared/domain/kubernetes/resolve-profile.ts';

/** The files for an agent to deliver: all of `main` of a repository, with the defaults of a spec, and these changes. */
export function intentOf(changes: Partial<Intent> = {}): Intent {
  const mapping = { source: '.', destination: '.', required: true, template: false };
  const profile = resolveProfile({ profiles: { default: { mappings: [mapping] } } }, 'default');
  assert.ok(profile);
  return {
    generation: 1,
    repo: 'https://git.test/x',
    ignoresHostKey: false,
    ref: 'main',
    commit: 'a'.repeat(40),
    profile,
    verify: 'none',
    submodules: false,
    reload: reloadSettings({ gateway: undefined }),
    ...changes,
  };
}
