import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { BOUNDS } from '../../../../../shared/api/bounds.ts';
import type { Mapping } from '../../../../../shared/api/sync.ts';
import { renderMappings } from '../../../../../shared/domain/files/render-mappings.ts';
import { WorkBudget } from '../../../../../shared/domain/limits/work-budget.ts';

const values = new Map([
  ['GatewayName', 'edge'],
  ['Vars.up', '../../etc'],
  ['Vars.own', '.sync-agent'],
]);

function render(source: string, destination: string) {
  return renderMappings([{ source, destination, required: true, template: false }], values);
}

suite('renderMappings', () => {
  test('renders templates in both paths', () => {
    const result = render('sites/{{ .GatewayName }}', './{{ .GatewayName }}//config/');
    assert.ok(result.kind === 'mappings');
    const [mapping] = result.mappings;
    assert.equal(mapping?.source, 'sites/edge');
    assert.equal(mapping?.destination, 'edge/config');
    assert.equal(mapping?.intoDirectory, true);
  });

  const refused: [name: string, source: string, destination: string, problem: RegExp][] = [
    ['a value that leads out', 'a', 'x/{{ .Vars.up }}', /mappings\[0\]\.destination: .*root/],
    ['a value that leads to the agent', 'a', '{{ .Vars.own }}/x', /mappings\[0\]\.destination: .*agent/],
    ['a directory in which git would run files', 'a', 'x/.GIT/hooks', /destination: x\/\.GIT\/hooks .*\.git/],
    ['a key without a value', '{{ .Vars.none }}', 'x', /mappings\[0\]\.source: line 1: .*\.Vars\.none/],
  ];
  for (const [name, source, destination, problem] of refused) {
    test(`rejects ${name}`, () => {
      const result = render(source, destination);
      assert.ok(result.kind === 'problems');
      assert.match(result.problems.join('\n'), problem);
    });
  }

  test('keeps the fields of a mapping, and adds defaults for the rest', () => {
    const given: Mapping[] = [
      { source: 'a/', destination: 'b' },
      {
        source: '.',
        destination: 'b/',
        type: 'dir',
        required: false,
        template: true,
        patches: [{ file: '', set: { k: '1' } }],
      },
    ];
    const result = renderMappings(given, values);
    assert.ok(result.kind === 'mappings');
    const [first, { patches = [], ...second } = {}] = result.mappings;
    const plain = { namedSource: undefined, type: undefined, required: true, template: false, patches: [] };
    assert.deepEqual(first, { source: 'a', destination: 'b', intoDirectory: false, ...plain });
    const other = { ...plain, type: 'dir', required: false, template: true, patches: undefined };
    assert.deepEqual(
      { ...second, patches: undefined },
      { source: '', destination: 'b', intoDirectory: true, ...other },
    );
    assert.deepEqual(patches[0]?.edits, [{ path: ['k'], json: '1' }]);
  });

  test('reads the mode of a mapping, and rejects modes that are unsafe or not four octal digits', () => {
    const modeOf = (mode: string) => renderMappings([{ source: 'a', destination: 'b', mode }], values);
    for (const [mode, bits] of Object.entries({ '0400': 0o400, '0640': 0o640, '0775': 0o775 })) {
      const result = modeOf(mode);
      assert.equal(result.kind === 'mappings' && result.mappings[0]?.mode, bits);
    }
    for (const mode of ['0200', '0602', '4755', '600', '0o600', '0680', '0600\n']) {
      const result = modeOf(mode);
      assert.match(result.kind === 'problems' ? result.problems.join() : '', /^mappings\[0\]\.mode: /, mode);
    }
  });

  test('reports all problems, with the number of the mapping and of the patch', () => {
    const given: Mapping[] = [
      {
        source: 'a',
        destination: 'b',
        patches: [
          { file: '', set: { k: '1' } },
          { file: '../x', set: { k: '1' } },
        ],
      },
      { source: '/a', destination: '..' },
    ];
    const result = renderMappings(given, values);
    assert.deepEqual(result.kind === 'problems' && result.problems.map((problem) => problem.replace(/: .*/, '')), [
      'mappings[0].patches[1].file',
      'mappings[1].source',
      'mappings[1].destination',
    ]);
  });

  test('quotes only the beginning of a path', () => {
    const result = render('a', `.sync-agent/${'x'.repeat(200)}`);
    assert.ok(result.kind === 'problems');
    assert.ok((result.problems[0] ?? '').length < 160);
  });

  test('stops if all paths together are too long, and reports that once', () => {
    const budget = new WorkBudget();
    assert.equal(budget.take(BOUNDS.rendered - 3), undefined);
    assert.equal(budget.isSpent, false);
    const mapping = { source: 'a', destination: 'b', required: true, template: false };
    const result = renderMappings([mapping, mapping, mapping], values, budget);
    assert.ok(result.kind === 'problems');
    const places = result.problems.map((problem) => problem.replace(/: .*/, ''));
    assert.deepEqual(places, ['mappings[1].destination']);
    assert.match(result.problems[0] ?? '', new RegExp(` ${BOUNDS.rendered} `));
  });
});
