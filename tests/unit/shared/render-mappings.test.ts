import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { renderMappings } from '../../../shared/domain/render-mappings.ts';

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
    assert.equal(mapping?.intoFolder, true);
  });

  const refused: [name: string, source: string, destination: string, problem: RegExp][] = [
    ['a value that leads out', 'a', 'x/{{ .Vars.up }}', /mappings\[0\]\.destination: .*must not leave its root/],
    ['a value that leads to the agent', 'a', '{{ .Vars.own }}/x', /folder of the agent's own files/],
    ["the agent's own folder written in another way", 'a', './/.sync-agent/', /folder of the agent's own files/],
    ['a key without a value', '{{ .Vars.none }}', 'x', /mappings\[0\]\.source: line 1: .*no value/],
    ['an absolute path', '/etc', 'x', /relative path/],
    ['a control character', 'a', 'x\ny', /control characters/],
  ];
  for (const [name, source, destination, problem] of refused) {
    test(`refuses ${name}`, () => {
      const result = render(source, destination);
      assert.ok(result.kind === 'problems');
      assert.match(result.problems.join('\n'), problem);
    });
  }
});
