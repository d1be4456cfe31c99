import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { AgentMetrics } from '../../../../agent/metrics.ts';
import type { WatchedResource } from '../../../../agent/resource/watch-resource.ts';
import { rolloutStatusOf } from '../../../support/objects.ts';
import { loopOf, mapping, resourceOf, synced } from '../support/loop-of.ts';

const resource = resourceOf();
const withSpec = (spec: object): WatchedResource => ({
  ...resource,
  generation: 2,
  observedGeneration: 2,
  spec: { ...resource.spec, ...spec } as WatchedResource['spec'],
});
const profiles = (profile: object) => ({ sync: { profiles: { default: { mappings: [mapping], ...profile } } } });

const withdrawals: [string, WatchedResource | undefined, string][] = [
  ['a pause', withSpec({ paused: true }), 'Paused'],
  ['a pause of the profile', withSpec(profiles({ paused: true })), 'Paused'],
  ['the deletion of the resource', undefined, 'Pending'],
  ['the removal of the profile', withSpec({ sync: { profiles: { other: { mappings: [mapping] } } } }), 'Error'],
];

suite('a sync whose files moved', () => {
  for (const [what, next, state] of withdrawals) {
    test(`is completed after ${what}: the gateway is notified, and the sync reported and counted`, async (t) => {
      const metrics = new AgentMetrics('0.0.0');
      const story: string[] = [];
      const { loop, stop, run } = await loopOf(t, {
        sync: async (_, signal) => {
          loop.onResource(next);
          story.push(`sync, ${signal.aborted ? 'aborted' : 'valid'}`);
          return synced;
        },
        report: (finding) => {
          story.push(finding.state);
          if (finding.state === state) stop();
        },
        notify: async () => story.push('reload') > 0,
        metrics,
      });
      await run(resource);
      assert.deepEqual(story, ['sync, aborted', 'reload', 'Synced', state]);
      assert.match(await metrics.registry.metrics(), /^sync_agent_syncs_total\{result="success"\} 1$/m);
    });
  }

  test('is completed after an edit that starts a dry run in a rollout', async (t) => {
    const story: string[] = [];
    const { loop, stop, run } = await loopOf(t, {
      sync: async ({ profile }) => {
        loop.onResource(inWaves(2, true));
        story.push(profile.dryRun ? 'plan' : 'sync');
        return profile.dryRun ? { ...synced, kind: 'planned' } : synced;
      },
      report: ({ state }) => {
        story.push(state);
        if (state === 'DryRun') stop();
      },
      notify: async () => story.push('reload') > 0,
    });
    await run(inWaves(1, false));
    assert.deepEqual(story, ['sync', 'reload', 'Synced', 'plan', 'DryRun']);
  });
});

/** A resource whose rollout has admitted all gateways. */
function inWaves(generation: number, dryRun: boolean): WatchedResource {
  const status = rolloutStatusOf();
  return {
    ...withSpec(profiles({ dryRun })),
    generation,
    observedGeneration: generation,
    rollout: { waves: [], status, revision: status.revision, earlier: [] },
  };
}
