import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { ChangeView } from '../../../cli/fleet/inspection.ts';
import { emptyPlan, planOfPreview } from '../../../cli/fleet/plan.ts';
import { planOfAnswers } from '../../../cli/fleet/plan-of-answers.ts';
import { withoutValues } from '../../../cli/fleet/plan-paths.ts';
import type { PlanView } from '../../../cli/fleet/plan-view.ts';
import { inkFor } from '../../../cli/terminal/ink.ts';
import { widthOf } from '../../../cli/terminal/text.ts';
import { drawPlan } from '../../../cli/views/draw-plan.ts';
import { drawPlanMarkdown } from '../../../cli/views/plan-markdown.ts';
import type { SyncReportStatus } from '../../../shared/api/sync-report.ts';
import { slow } from '../../support/depth.ts';
import type { SpecInput } from '../../support/objects.ts';
import { changing, failing, NEW, type PreviewingGateway, planned, unchanged } from '../../support/planned-fleet.ts';
import { hostOf } from './host-of.ts';

const host = (columns?: number, hasColours = false) => hostOf(columns, { hasColours });

function planFor(gateways: readonly PreviewingGateway[], options?: Parameters<typeof planned>[1]) {
  const { gatewaySync, preview, beyond } = planned(gateways, options);
  return { view: planOfPreview(gatewaySync, preview, beyond), gatewaySync, beyond };
}

const FLEET: PreviewingGateway[] = [
  changing('a', ['modify etc/a.conf', 'add etc/b.conf'], { tier: 'canary' }),
  changing('b', ['modify etc/a.conf', 'add etc/b.conf']),
  changing('c', ['delete etc/c.conf']),
  unchanged('d'),
  failing('e', 'etc/a.conf: line 1: {{ .Vars.limit }} has no value'),
  { name: 'f' },
  { name: 'g', state: 'Paused' },
  { name: 'h', report: { commit: NEW } },
];

suite('kubectl stoker plan shows', () => {
  test('the counts of each wave, failures, groups of changes, and all other gateways', () => {
    assert.deepEqual(drawPlan(planFor(FLEET).view, host()), [
      '✘ gateways/plant: main (bbbbbbbb) cannot be delivered to 1 of 8 gateways, would change 3 (5 files in total), may change 1 without a plan, and skips 1',
      '',
      'WAVE     GATEWAYS   CHANGED   FAILING   NOT REPORTED   UNCHANGED   UPDATED   SKIPPED',
      'canary   1          1         0         0              0           0         0',
      'shops    7          2         1         1              1           1         1',
      'rest     0          0         0         0              0           0         0',
      '',
      'cannot be delivered to 1 gateway (shops 1): e',
      '  etc/a.conf: line 1: {{ .Vars.limit }} has no value',
      '',
      '2 gateways (canary 1, shops 1): a, b',
      '  ~ etc/a.conf',
      '  + etc/b.conf',
      '',
      '1 gateway (shops 1): c',
      '  - etc/c.conf',
      '',
      'not reported: 1 gateway (shops 1): f (its agent has not reported yet)',
      'skipped: 1 gateway (shops 1): g (paused)',
      'unchanged: 1 gateway (shops 1): d',
      'updated already: 1 gateway (shops 1): h',
    ]);
  });

  test('a short hash if the ref is a commit', () => {
    assert.match(drawPlan(planFor([unchanged('a')]).view, host())[0] ?? '', /: main \(bbbbbbbb\) would change nothing/);
    const { view, gatewaySync, beyond } = planFor([unchanged('a')], { preview: { ref: NEW } });
    assert.equal(drawPlan(view, host())[0], '✔ gateways/plant: bbbbbbbb would change nothing on 1 gateway');
    assert.match(drawPlanMarkdown(withoutValues(view, gatewaySync, beyond)), /\n`bbbbbbbb` would change nothing/);
  });

  test('files of the gateway that would be taken over, and problems that are not new', () => {
    const old = { name: 'b', report: {}, preview: { digest: 'problem' } };
    const { view, gatewaySync, beyond } = planFor([changing('a', ['modify x (TakenOver)', 'add y (New)']), old]);
    const lines = drawPlan(view, host());
    assert.ok(lines.includes('  ~ x   TakenOver'), lines.join('\n'));
    assert.ok(lines.includes('  + y'));
    assert.ok(lines.includes('1 gateway (shops 1): b (with a problem that their current commit has as well)'));
    const markdown = drawPlanMarkdown(withoutValues(view, gatewaySync, beyond));
    assert.match(markdown, /\n- modify `x` \(TakenOver\)\n- add `y`\n/);
    assert.match(markdown, /, with a problem that their current commit has as well\.\n/);
  });

  test('the reason why a rollout stopped, but not in Markdown', () => {
    const { gatewaySync } = planFor([]);
    const view = emptyPlan(gatewaySync, { says: 'the rollout of bbbbbbbb stopped', failure: 'a has no label' });
    assert.deepEqual(drawPlan(view, host()), ['✘ gateways/plant: the rollout of bbbbbbbb stopped', 'a has no label']);
    assert.equal(drawPlanMarkdown(view), '### Plan of `gateways/plant`\n\nthe rollout of bbbbbbbb stopped.\n');
  });

  test('the number of contents if templates render the same file differently, and the cause', () => {
    const own = (name: string) => changing(name, ['modify name.txt'], {}, { digest: name, everyCommit: 'name.txt' });
    const lines = drawPlan(planFor([own('a'), own('b')]).view, host());
    assert.ok(lines.includes('2 gateways (shops 2): a, b (with 2 different contents)'), lines.join('\n'));
    assert.equal(lines.at(-1), 'every commit changes name.txt: its template or patch uses the commit or the ref');
  });

  test('the verdict and the kinds of changes in colors', () => {
    const ink = inkFor(true);
    const text = drawPlan(planFor(FLEET).view, host(undefined, true)).join('\n');
    assert.ok(text.startsWith(ink('red', '✘')));
    for (const line of [
      `  ${ink('yellow', '~')} etc/a.conf`,
      ink('bold', '1 gateway (shops 1): c'),
      ink('red', 'cannot be delivered to 1 gateway (shops 1): e'),
    ])
      assert.ok(text.includes(`\n${line}\n`), line);
  });

  test('nothing that controls a terminal, and fits into terminals of every width', () => {
    const hostile = 'x\u001b[31m\u202e\ny'.repeat(30);
    const { view } = planFor([changing('a', [`modify ${hostile}`]), failing('b', hostile), ...FLEET.slice(2)]);
    for (const columns of [40, 60, 80, 200]) {
      for (const line of drawPlan(view, host(columns))) {
        assert.ok(widthOf(line) <= columns, `${columns}: ${line}`);
        assert.doesNotMatch(line, /[\p{Cc}\p{Bidi_Control}]/u);
      }
    }
  });

  test('a limited number of groups, failures, paths, and names of 5,000 gateways', slow, () => {
    const paths = Array.from({ length: 20 }, (_, index) => `add file-${index}`);
    const gateways = Array.from({ length: 5_000 }, (_, index): PreviewingGateway => {
      const name = `till-${index}`;
      if (index % 2) return failing(name, `message ${index}`);
      return changing(name, [...paths.slice(1), `add own-${index}`], {}, { added: 500, modified: 0 });
    });
    const { view, gatewaySync, beyond } = planFor(gateways);
    const lines = drawPlan(view, host());
    assert.ok(lines.length < 550, `${lines.length}`);
    for (const omitted of ['2480 more groups, with 2480 gateways', '2480 more error messages', '480 more files'])
      assert.ok(
        lines.some((line) => line.trim().startsWith(`and ${omitted}`)),
        omitted,
      );
    assert.equal(view.groups.length, 2_500, 'JSON has all');
    const text = drawPlanMarkdown(withoutValues(view, gatewaySync, beyond));
    assert.ok(text.length < 65_536, `${text.length}`);
    assert.match(text, /\n2490 more groups not shown\.\n/);
  });
});

suite('the Markdown of a plan', () => {
  const markdownFor = (gateways: readonly PreviewingGateway[], options?: Parameters<typeof planned>[1]) => {
    const { view, gatewaySync, beyond } = planFor(gateways, options);
    return drawPlanMarkdown(withoutValues(view, gatewaySync, beyond));
  };

  test('has paths and counts, but no names of gateways and no messages', () => {
    assert.equal(
      markdownFor(FLEET),
      `### Plan of \`gateways/plant\`

\`main (bbbbbbbb)\` cannot be delivered to 1 of 8 gateways, would change 3 (5 files in total), may change 1 without a plan, and skips 1.

| wave | gateways | changed | failing | not reported | unchanged | updated | skipped |
| --- | --- | --- | --- | --- | --- | --- | --- |
| \`canary\` | 1 | 1 | 0 | 0 | 0 | 0 | 0 |
| \`shops\` | 7 | 2 | 1 | 1 | 1 | 1 | 1 |
| \`rest\` | 0 | 0 | 0 | 0 | 0 | 0 | 0 |

**1 gateway** cannot get this commit, for 1 reason. The output without \`--output markdown\` contains the reasons.

**2 gateways** (\`canary\` 1, \`shops\` 1):

- modify \`etc/a.conf\`
- add \`etc/b.conf\`

**1 gateway** (\`shops\` 1):

- delete \`etc/c.conf\`
`,
    );
  });

  test('shows hostile paths as code, in which nothing has a meaning', () => {
    const paths = ['`</code><img src=x>`', '```\n# heading', '| @team [x](http://x) |', '', '`', 'a\u202eb', '<!--'];
    const changes = paths.map((path) => `modify ${path}`);
    const [, ...items] = markdownFor([changing('a', changes)])
      .trimEnd()
      .split(/\n(?:.*\n)*?- /);
    assert.deepEqual(items, [
      'modify `` `</code><img src=x>` ``',
      'modify ```` ``` # heading ````',
      'modify `| @team [x](http://x) |`',
      'modify ` `',
      'modify `` ` ``',
      'modify `a\ufffdb`',
      'modify `<!--`',
    ]);
    const untagged = markdownFor([changing('a', ['<b>'])]);
    assert.match(untagged, /\n- `…`\n/, 'a path without a beginning');
  });

  test('names the ref, and the sample, safely', () => {
    const view: PlanView = { ...planFor([unchanged('a')]).view, ref: 'a`b|<i>', sampledFrom: 9 };
    assert.match(
      drawPlanMarkdown(view),
      /\n1 of 9 gateways were queried: `` a`b\|<i> \(bbbbbbbb\) `` would change nothing on 1 gateway\.\n/,
    );
  });

  const sync = (...destinations: string[]) => {
    const mappings = destinations.map((destination) => ({ source: 'a', destination }));
    return { sync: { profiles: { default: { mappings, vars: { site: 'secret' } } } } };
  };
  const rows: [destinations: string[], path: string, shown: string][] = [
    [['sites/{{ .Labels.site }}/etc'], 'sites/secret/etc/a.conf', 'sites/…'],
    [['./sites//{{ .Labels.site }}'], 'sites/secret/a.conf', 'sites/…'],
    [['site-{{ .Vars.site }}'], 'site-secret/a.conf', 'site-…'],
    [['{{ .GatewayName }}.conf'], 'secret.conf', '…'],
    [['{{ .Labels.site }}', 'etc/'], 'etc/a.conf', '…'],
    [['sites/{{ .Labels.site }}', 'sites/secret'], 'sites/secret/a.conf', 'sites/…'],
    [['{{ .Labels.site }}', 'sites/{{ .Labels.site }}'], 'sites/secret/a.conf', '…'],
    [['{{ .Labels.site }}', '.'], 'secret/a.conf', '…'],
    [['etc/{{ .Labels.site }}', 'etc'], 'etc/secret/a.conf', 'etc/…'],
  ];
  for (const [destinations, path, shown] of rows) {
    test(`shows ${path} of ${destinations.join(' and ')} as ${shown}`, () => {
      const gateway = changing('a', [`modify ${path}`], {}, { everyCommit: path });
      const text = markdownFor([gateway], { spec: { ...sync(...destinations), rollout: { waves: [] } } });
      assert.ok(text.includes(`\n- modify \`${shown}\`\n`), text);
      assert.ok(text.includes(`Every commit changes \`${shown}\``), text);
      assert.doesNotMatch(text, /secret/);
    });
  }

  test('hides the name of a file that comes from a template in its source', () => {
    const rows: [mapping: object, isHidden: boolean][] = [
      [{ source: 'sites/{{ .GatewayName }}.conf', destination: 'etc/' }, true],
      [{ source: '{{ .Labels.site }}', destination: 'etc/', type: 'file' }, true],
      [{ source: 'sites/{{ .GatewayName }}.conf', destination: 'etc/a.conf' }, false],
      [{ source: '{{ .Labels.site }}', destination: 'etc/', type: 'dir' }, false],
      [{ source: '{{ .Labels.site }}/a.conf', destination: 'etc/' }, false],
    ];
    for (const [mapping, isHidden] of rows) {
      const spec = { sync: { profiles: { default: { mappings: [mapping] } } } } as Partial<SpecInput>;
      const text = markdownFor([changing('a', ['modify etc/a.conf'])], { spec });
      assert.ok(text.includes(`\n- modify \`etc/${isHidden ? '…' : 'a.conf'}\`\n`), text);
    }
  });

  test('combines gateways whose paths differ only in values', () => {
    const fleet = ['secret', 'other'].map((site) =>
      changing(site, [`modify sites/${site}/a`, `modify sites/${site}/b`]),
    );
    const text = markdownFor(fleet, { spec: sync('sites/{{ .Labels.site }}') });
    assert.match(text, /\*\*2 gateways\*\* .*, with 2 different contents:\n\n- modify `sites\/…`\n- 1 more file\n/);
  });

  test('has no paths while another revision of spec.sync is in use, whose destinations are unknown', () => {
    const text = markdownFor([changing('a', ['delete secret/a', 'add etc/b'])], {
      spec: sync('etc'),
      rollout: { stableRevision: '2'.repeat(32) },
    });
    assert.doesNotMatch(text, /secret|etc/);
    assert.match(text, /\*\*1 gateway\*\*.*:\n\n- 2 files, not listed, because paths of an earlier `spec\.sync`/);
  });

  test('has no paths of gateways whose files may be of an earlier spec.sync', () => {
    const rows: [report: Partial<SyncReportStatus>, isShown: boolean][] = [
      [{ revision: '2'.repeat(32) }, false],
      [{ revision: undefined, generation: 1, state: 'Synced' }, true],
      [{ revision: undefined, generation: 1, state: 'Paused' }, false],
      [{ revision: undefined, generation: 0, state: 'Synced' }, false],
    ];
    for (const [report, isShown] of rows) {
      const { gatewaySync, beyond } = planned([{ name: 'a', report }], { spec: sync('etc') });
      const changes: ChangeView = { kind: 'delete', path: 'sites/secret/a', reason: 'NoLongerMapped' };
      const answers = [{ gateway: 'a', pod: 'a', commit: NEW, changes: [changes], more: 0 }];
      const asked = { namespace: 'gateways', name: 'plant', kind: 'diff' as const, total: 1, silent: [] };
      const view = planOfAnswers({ ...asked, answers }, { gateways: [], waves: [] });
      const text = drawPlanMarkdown(withoutValues(view, gatewaySync, beyond));
      assert.equal(text.includes('secret'), isShown, JSON.stringify(report));
    }
  });

  test('has a limited size, whatever gateways report', () => {
    const fill: Record<string, (index: number) => string> = {
      reason: (index) => `modify x${index} (${'y'.repeat(1_000)})`,
      invisible: (index) => `modify x${index}${'\u200b'.repeat(1_000)}`,
      fences: (index) => `modify ${index}${'`'.repeat(1_000)}`,
    };
    for (const [name, path] of Object.entries(fill)) {
      const paths = (gateway: number) => Array.from({ length: 20 }, (_, index) => path(100 * gateway + index));
      const text = markdownFor(Array.from({ length: 10 }, (_, gateway) => changing(`${gateway}`, paths(gateway))));
      assert.ok(text.length < 50_000, `${name}: ${text.length}`);
      assert.match(text, / more groups? not shown|reason/);
    }
    const text = markdownFor([changing('a', ['modify x (__bold__)'])]);
    assert.match(text, /\n- modify `x \(__bold__\)`\n/, 'everything is in the code span');
  });
});
