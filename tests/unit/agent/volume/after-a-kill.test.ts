import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { suite, test } from 'node:test';
import type { ResolvedProfile } from '../../../../shared/domain/kubernetes/resolve-profile.ts';
import { sample } from '../../../support/depth.ts';
import { contents, countCalls, describeKill, everyKill, everyStep, runKilled, startNext } from '../support/kill-at.ts';
import { localAgents } from '../support/local-sandbox.ts';

interface Step {
  /** Content of `f` in the commit. */
  f: string | null;
  profile?: Partial<ResolvedProfile>;
}

interface Story {
  title: string;
  /** Content of `f` at first, and the gateway's write right before the kill: both are kept. */
  theirs?: string;
  rewritten?: string;
  before: Step[];
  killed: Step;
  after: Step[];
  hasLinks: boolean[];
}

const kept = { prune: false };
const optional = {
  mappings: [
    { source: 'd', destination: '.', required: false, template: false },
    { source: 'z', destination: 'z', required: true, template: false },
  ],
};
const both = [true, false];
const takeover = { theirs: 'ORIGINAL', before: [], hasLinks: both };
const removal = { theirs: 'ORIGINAL', killed: { f: null }, hasLinks: [false] };
const stories: Story[] = [
  {
    ...takeover,
    title: 'taken over, and prune: false keeps it: it is no file of the agent when prune comes',
    killed: { f: 'one', profile: kept },
    after: [{ f: null, profile: kept }, { f: null }],
  },
  {
    ...takeover,
    title: 'taken over, and its source is optional and missing: it is kept when it is mapped again',
    killed: { f: 'one', profile: optional },
    after: [
      { f: null, profile: optional },
      { f: 'three', profile: optional },
      { f: null, profile: { ...optional, ...kept } },
      { f: null },
    ],
  },
  {
    ...removal,
    title: 'removed, and has what the commit came to',
    before: [{ f: 'one' }, { f: 'ORIGINAL' }],
    after: [{ f: null }],
  },
  {
    ...removal,
    title: 'removed, and has what the gateway wrote again',
    rewritten: 'ORIGINAL',
    before: [{ f: 'one' }],
    after: [{ f: null }],
  },
  {
    ...removal,
    title: 'removed, and is mapped again with the same content as before',
    before: [{ f: 'one' }, { f: 'ORIGINAL' }],
    after: [{ f: 'three' }, { f: null }],
  },
  ...(['refuse', 'takeOver'] as const).flatMap((onConflict) =>
    [[], [{ f: 'zero' }]].map((before) => ({
      title: `${before.length > 0 ? 'changed' : 'new'}, with onConflict: ${onConflict}`,
      before,
      killed: { f: 'one', profile: { onConflict } },
      after: [
        { f: 'one', profile: { onConflict } },
        { f: null, profile: { onConflict } },
      ],
      hasLinks: [false],
    })),
  ),
];

/** Content of `f` from the agent, and the empty placeholder. */
const OWN = ['', 'zero', 'one', 'three'];
/** Number of changes in the sync of one file. */
const STEPS = { atLeast: 10, atMost: 80 };

/** An agent that is not killed can do nothing either while its volume is unavailable. */
const cases = [true, false].flatMap((isKilled) =>
  stories.flatMap((story) => story.hasLinks.map((hasLinks) => ({ story, isKilled, hasLinks }))),
);

/** No write is torn in an outage. */
const everyOutage: typeof everyKill = (t, steps, run) => everyStep(t, steps, (step) => run({ step }));

suite('all files keep their owners and content after', () => {
  for (const { story, isKilled: isRestarted, hasLinks } of sample(cases, 3)) {
    const end = isRestarted ? 'a kill' : 'an outage that begins';
    const links = hasLinks ? 'with' : 'without';
    test(`${end} at any step while a file is ${story.title}; ${links} hard links`, async (t) => {
      const { targetOf, createAgent } = await localAgents(t);
      const directory = story.killed.profile?.mappings ? 'd/' : '';
      let commits = 0;
      const prepare = async (steps: Step[]) => {
        const made = [];
        for (const { f, profile = {} } of steps) {
          commits += 1;
          made.push(await targetOf({ [`${directory}f`]: f, z: `${commits}` }, profile));
        }
        return made;
      };
      const earlier = await prepare([{ f: null }, ...story.before]);
      const [killed] = await prepare([story.killed]);
      const later = await prepare(story.after);
      assert.ok(killed);
      await (isRestarted ? everyKill : everyOutage)(t, STEPS, async (kill) => {
        const sandbox = await createAgent();
        const { data } = sandbox;
        const file = path.join(data, 'f');
        if (story.theirs) writeFileSync(file, story.theirs);
        const begin = countCalls(data, { hasLinks });
        for (const target of earlier) await sandbox.sync(target);
        begin.end();
        if (story.rewritten) writeFileSync(file, story.rewritten);
        const played = await runKilled(data, kill, () => sandbox.sync(killed), { hasLinks });
        if (isRestarted) await startNext(sandbox);
        const goOn = countCalls(data, { hasLinks });
        for (const target of later) await sandbox.sync(target);
        goOn.end();
        const all = contents(sandbox);
        const step = describeKill(kill, played);
        const theirs = all.filter((content) => content === 'ORIGINAL');
        const written = [story.theirs, story.rewritten].filter((content) => content === 'ORIGINAL');
        assert.deepEqual(theirs, written, `${step}: ${all}`);
        assert.ok(!all.some((content) => OWN.includes(content)), `${step} leaves something: ${all}`);
        return played;
      });
    });
  }
});
