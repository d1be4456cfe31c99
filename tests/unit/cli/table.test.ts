import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import fc from 'fast-check';
import { drawData } from '../../../cli/terminal/data.ts';
import { inkFor, wantsColours } from '../../../cli/terminal/ink.ts';
import { drawTable } from '../../../cli/terminal/table.ts';
import { cut, plain, widthOf, wrap } from '../../../cli/terminal/text.ts';
import { ageOf } from '../../../cli/terminal/times.ts';

const ink = inkFor(false);
const columns = [{ title: 'NAME' }, { title: 'REF', dropped: 1 }, { title: 'SAYS', wraps: true }];

suite('a table', () => {
  test('is as wide as it has to be, and leaves out columns without a text', () => {
    assert.deepEqual(drawTable(columns, [['a', '', 'all is well']], { columns: undefined, ink }), [
      'NAME   SAYS',
      'a      all is well',
    ]);
  });

  test('breaks what is said into lines before it cuts anything', () => {
    assert.deepEqual(drawTable(columns, [['plant', 'main', 'the volume is full: free some']], { columns: 32, ink }), [
      'NAME    REF    SAYS',
      'plant   main   the volume is',
      '               full: free some',
    ]);
  });

  test('leaves out columns where even that is too wide', () => {
    const row = ['plant', 'refs/heads/main', 'the volume is full'];
    assert.deepEqual(drawTable(columns, [row], { columns: 26, ink }), ['NAME    SAYS', 'plant   the volume is full']);
  });

  test('of any texts has no line that is wider than the terminal, and none that moves its cursor', () => {
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
      { numRuns: 30 },
    );
  });
});

suite('a text', () => {
  test('of a tenant cannot steer the terminal', () => {
    assert.equal(plain('a\u001b[2Jb\nc\u009bd\u202ee'), 'a\ufffd[2Jb c\ufffdd\ufffde');
  });

  test('is as wide as it looks', () => {
    assert.deepEqual(['abc', '日本', 'e\u0301', '🚀'].map(widthOf), [3, 4, 1, 2]);
    assert.equal(cut('plant-with-a-long-name', 8), 'plant-w…');
  });

  test('is broken between words, or within one that is too long', () => {
    assert.deepEqual(wrap('one two three', 7), ['one two', 'three']);
    assert.deepEqual(wrap('x'.repeat(10), 4), ['xxxx', 'xxxx', 'xx']);
  });
});

test('colours are for terminals, unless the environment says otherwise', () => {
  const cases: [Record<string, string>, isTerminal: boolean, expected: boolean][] = [
    [{}, true, true],
    [{}, false, false],
    [{ NO_COLOR: '1' }, true, false],
    [{ TERM: 'dumb' }, true, false],
    [{ FORCE_COLOR: '1', NO_COLOR: '1' }, false, true],
    [{ FORCE_COLOR: '0' }, true, false],
  ];
  for (const [environment, isTerminal, expected] of cases)
    assert.equal(wantsColours(environment, isTerminal), expected, JSON.stringify(environment));
  assert.equal(inkFor(true)('red', 'x'), '\u001b[31mx\u001b[0m');
});

test('data says exactly what it is about, with nothing that a terminal obeys', () => {
  const value = { says: 'a\u001b[2J\u009b1m\u202e"', list: ['no', 'true', 1] };
  for (const format of ['json', 'yaml'] as const) {
    const text = drawData(value, format);
    assert.doesNotMatch(text.replaceAll('\n', ''), /\p{Cc}|\p{Bidi_Control}/u);
    assert.deepEqual(JSON.parse(drawData(value, 'json')), value);
  }
  assert.equal(drawData({ a: ['no', 1] }, 'yaml'), 'a:\n  - "no"\n  - 1\n');
});

test('an age is in the unit that says most', () => {
  const now = Date.parse('2026-01-10T00:00:00Z');
  const ages = ['2026-01-09T23:59:55Z', '2026-01-09T23:58:30Z', '2026-01-09T23:50:00Z', '2026-01-01T00:00:00Z', 'x'];
  assert.deepEqual(
    ages.map((time) => ageOf(time, now)),
    ['5s', '90s', '10m', '9d', ''],
  );
});
