import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { drawLegend, drawWaves, type Look } from '../../../cli/terminal/bars.ts';
import { drawData } from '../../../cli/terminal/data.ts';
import { inkFor, wantsColours } from '../../../cli/terminal/ink.ts';
import { Screen } from '../../../cli/terminal/screen.ts';
import { drawTable } from '../../../cli/terminal/table.ts';
import { cut, plain, widthOf, wrap } from '../../../cli/terminal/text.ts';
import { drawTimeline } from '../../../cli/terminal/timeline.ts';
import { ageOf } from '../../../cli/terminal/times.ts';
import { fc, runs } from '../../support/property.ts';

const ink = inkFor(false);
const columns = [{ title: 'NAME' }, { title: 'REF', dropped: 1 }, { title: 'SAYS', wraps: true }];

suite('a table', () => {
  test('is as wide as needed, and leaves out empty columns', () => {
    assert.deepEqual(drawTable(columns, [['a', '', 'all is well']], { columns: undefined, ink }), [
      'NAME   SAYS',
      'a      all is well',
    ]);
  });

  test('wraps text before it truncates any', () => {
    assert.deepEqual(drawTable(columns, [['plant', 'main', 'the volume is full: free some']], { columns: 32, ink }), [
      'NAME    REF    SAYS',
      'plant   main   the volume is',
      '               full: free some',
    ]);
  });

  test("leaves out columns if wrapping isn't enough", () => {
    const row = ['plant', 'refs/heads/main', 'the volume is full'];
    assert.deepEqual(drawTable(columns, [row], { columns: 26, ink }), ['NAME    SAYS', 'plant   the volume is full']);
  });

  test('never has a line wider than the terminal, or a control character', () => {
    const cell = fc.string({ unit: 'binary', maxLength: 30 });
    fc.assert(
      fc.property(
        fc.array(fc.tuple(cell, cell, cell), { maxLength: 5 }),
        fc.integer({ min: 27, max: 120 }),
        (rows, width) => {
          for (const line of drawTable(columns, rows, { columns: width, ink })) {
            assert.ok(widthOf(line) <= width, line);
            assert.doesNotMatch(line, /\p{Cc}|\p{Bidi_Control}/u);
          }
        },
      ),
      { numRuns: runs(30) },
    );
  });
});

suite('terminal text', () => {
  test("from a tenant can't control the terminal", () => {
    assert.equal(plain('a\u001b[2Jb\nc\u009bd\u202ee'), 'a\ufffd[2Jb c\ufffdd\ufffde');
    assert.equal(plain('a\u3164\u115fb'), 'a\ufffd\ufffdb', 'some terminals draw them two columns wide');
  });

  test('is measured by its display width', () => {
    const texts = ['abc', '日本', 'e\u0301', '🚀', '👩‍👩‍👧', '🇫🇷', '\u001b[1mx'];
    assert.deepEqual(texts.map(widthOf), [3, 4, 1, 2, 2, 2, 4]);
    assert.equal(cut('plant-with-a-long-name', 8), 'plant-w…');
  });

  test('is cut and wrapped between characters as users see them', () => {
    assert.equal(cut('a👩‍👩‍👧bcdefgh', 5), 'a👩‍👩‍👧b…');
    assert.deepEqual(wrap('e\u0301'.repeat(5), 2), ['e\u0301e\u0301', 'e\u0301e\u0301', 'e\u0301']);
    assert.deepEqual(wrap('🇫🇷🇩🇪', 2), ['🇫🇷', '🇩🇪']);
    assert.ok(cut(`a${'\u0301'.repeat(100_000)}`, 8).length <= 32);
  });

  test('can be wider than its column', () => {
    const drawn = drawTable([{ title: 'SAYS', wraps: true }], [['\u0600'.repeat(40)]], {
      columns: 20,
      ink: (_, text) => text,
    });
    assert.ok(drawn.length > 1);
  });

  test('is wrapped between words, or within a word that is too long', () => {
    assert.deepEqual(wrap('one two three', 7), ['one two', 'three']);
    assert.deepEqual(wrap('x'.repeat(10), 4), ['xxxx', 'xxxx', 'xx']);
  });
});

test('colors are used on terminals, unless environment variables override that', () => {
  const cases: [Record<string, string>, isTerminal: boolean, expected: boolean][] = [
    [{}, true, true],
    [{}, false, false],
    [{ NO_COLOR: '1' }, true, false],
    [{ TERM: 'dumb' }, true, false],
    [{ FORCE_COLOR: '1', NO_COLOR: '1' }, false, true],
    [{ FORCE_COLOR: '0' }, true, false],
    [{ FORCE_COLOR: 'false' }, true, false],
  ];
  for (const [environment, isTerminal, expected] of cases)
    assert.equal(wantsColours(environment, isTerminal), expected, JSON.stringify(environment));
  assert.equal(inkFor(true)('red', 'x'), '\u001b[31mx\u001b[0m');
});

test('structured output has the exact values, without control characters', () => {
  const value = { says: 'a\u001b[2J\u009b1m\u202e"', list: ['no', 'true', 1] };
  for (const format of ['json', 'yaml'] as const) {
    const text = drawData(value, format);
    assert.doesNotMatch(text.replaceAll('\n', ''), /\p{Cc}|\p{Bidi_Control}/u);
    assert.deepEqual(JSON.parse(drawData(value, 'json')), value);
  }
  assert.equal(drawData({ a: ['no', 1] }, 'yaml'), 'a:\n  - "no"\n  - 1\n');
});

test('an age is in the most useful unit', () => {
  const now = Date.parse('2026-01-10T00:00:00Z');
  const ages = ['2026-01-09T23:59:55Z', '2026-01-09T23:58:30Z', '2026-01-09T23:50:00Z', '2026-01-01T00:00:00Z', 'x'];
  assert.deepEqual(
    ages.map((time) => ageOf(time, now)),
    ['5s', '90s', '10m', '9d', ''],
  );
  const after = (ms: number) => ageOf('2026-01-10T00:00:00Z', now + ms);
  const second = 1_000;
  const hour = 3_600 * second;
  assert.deepEqual([-second, 0, 999, second].map(after), ['0s', '0s', '0s', '1s']);
  assert.deepEqual([120 * second - 1, 120 * second].map(after), ['119s', '2m']);
  assert.deepEqual([2 * hour - 1, 2 * hour].map(after), ['119m', '2h']);
  assert.deepEqual([48 * hour - 1, 48 * hour].map(after), ['47h', '2d']);
});

suite('the waves of a rollout', () => {
  const gateways = (...looks: Look[]) => looks.map((look) => ({ look }));
  const waves = [
    { name: 'canary', state: 'done' as const, gateways: gateways('new', 'new') },
    { name: 'b', state: 'underWay' as const, gateways: gateways('old', 'onItsWay', 'new', 'failed') },
    { name: 'c', state: 'failed' as const, gateways: [] },
    { name: 'd', state: 'waiting' as const },
    { name: 'e', state: 'back' as const, gateways: gateways('old', 'onItsWay', 'old') },
  ];

  test('are drawn with a shape for each gateway', () => {
    assert.deepEqual(drawWaves(waves, { columns: undefined, ink }), [
      ...['✔ canary  ██  2/2', '▶ b       ░▒█╳  1/4, 1 failed, 1 updating', '✘ c         no gateway', '  d'],
      '↩ e       ░▒░  2/3 rolled back, 1 updating',
    ]);
  });

  test('are drawn in colors, with a legend', () => {
    const coloured = inkFor(true);
    const [first, second] = drawWaves(waves, { columns: 80, ink: coloured });
    assert.ok(first?.startsWith(`${coloured('green', '✔')} ${coloured('bold', 'canary')}  ${coloured('green', '█')}`));
    const codes = (second ?? '').split('\u001b[').flatMap((part) => /^(\d+)m(\S)/.exec(part)?.slice(1).join(' ') ?? []);
    assert.deepEqual(codes, ['33 ▶', '1 b', '90 ░', '33 ▒', '32 █', '31 ╳', '2 1']);
    assert.deepEqual(drawLegend(ink), ['░░ old commit   ▒▒ updating   ▓▓ unchanged   ██ new, verified   ╳╳ failed']);
    assert.deepEqual([drawLegend(ink, 74).length, drawLegend(ink, 73).length], [1, 0]);
  });

  test('are truncated to the terminal', () => {
    const many = (count: number) => [
      { name: 'w', state: 'done' as const, gateways: gateways(...Array<Look>(count).fill('new')) },
    ];
    const [fits, more] = [6, 7].map((count) => drawWaves(many(count), { columns: 18, ink })[0]);
    assert.equal(fits, '✔ w  ██████  6/6');
    assert.equal(more, '✔ w  █████…  7/7');
    const [long] = drawWaves([{ name: 'a-long-name', state: 'waiting', gateways: [] }], { columns: 30, ink });
    assert.equal(long, '  a-long-na…    no gateway');
  });
});

test('a timeline has bars in proportion to the durations', () => {
  const moments = [
    { what: 'began', atMs: 0 },
    { what: 'half', atMs: 500.4 },
    { what: 'ended after a long time', atMs: 1_000 },
  ];
  assert.deepEqual(drawTimeline(moments, { columns: undefined, ink }), [
    `     0 ms  ━${' '.repeat(34)}  began`,
    `   500 ms  ${'━'.repeat(18)}${' '.repeat(17)}  half`,
    `  1000 ms  ${'━'.repeat(35)}  ended after a long time`,
  ]);
  assert.deepEqual(drawTimeline(moments.slice(2), { columns: 30, ink }), ['  1000 ms  ━━━━━  ended after…']);
  assert.deepEqual(drawTimeline(moments.slice(0, 1), { columns: 10, ink }), ['     0 ms  ━      began']);
});

test('a screen replaces its rows on a terminal, and prints one line per change elsewhere', () => {
  const printed = (columns: number | undefined) => {
    let text = '';
    const screen = new Screen({ columns, print: (more: string) => (text += more) } as never);
    screen.show(['a', 'b'], 'one');
    screen.show(['a', 'b'], 'one');
    screen.show(['c'], 'two');
    return text;
  };
  assert.equal(printed(80), 'a\nb\n\u001b[2A\u001b[Jc\n');
  assert.equal(printed(undefined), 'one\ntwo\n');
});
