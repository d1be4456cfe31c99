import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { isLfsPointer } from '../../../../../agent/plan/lfs-pointer.ts';
import { renderContent } from '../../../../../agent/plan/render-content.ts';
import { gatewayNameOf, type Identity, inputsHash, templateValues } from '../../../../../agent/plan/template-values.ts';
import { BOUNDS } from '../../../../../shared/api/bounds.ts';
import { renderTemplate } from '../../../../../shared/domain/files/render-template.ts';
import { assertLinear } from '../../../../support/assert-linear.ts';
import { fc, runs } from '../../../../support/property.ts';

const identity: Identity = {
  podName: 'edge-3',
  podUid: 'uid',
  namespace: 'ns',
  crName: 'gw',
  profile: 'default',
  gatewayName: undefined,
};
const labels = new Map([['app.kubernetes.io/name', 'edge']]);
const values = templateValues({ identity, labels, ref: 'v1', commit: 'abc', vars: { port: '80', html: '{{ .Ref }}' } });

suite('renderTemplate', () => {
  const cases: [template: string, text: string][] = [
    ['no template', 'no template'],
    ['{{ .GatewayName }}/{{.PodName}}/{{ .PodOrdinal }}', 'edge/edge-3/3'],
    ['{{ .Namespace }} {{ .CRName }} {{ .Ref }} {{ .Commit }}', 'ns gw v1 abc'],
    ['{{ .Labels.app.kubernetes.io/name }}', 'edge'],
    ['{{\n.Vars.port\t}}', '80'],
    ['{{ "a\\"b\\n" }}', 'a"b\n'],
    ['{{ .Vars.html }}', '{{ .Ref }}'],
    ['{{ "{{" }} .x }}', '{{ .x }}'],
    ['{single} }} $& $1', '{single} }} $& $1'],
  ];
  for (const [template, text] of cases) {
    test(`turns ${template} into ${text}`, () => {
      const result = renderTemplate(template, values);
      assert.ok(result.kind === 'rendered');
      assert.equal(result.text, text);
    });
  }

  const refused: [template: string, message: RegExp][] = [
    ['a\n{{ .Vars.none }}', /line 2: \{\{ \.Vars\.none \}\} /],
    ['{{ .Labels.none }}', / \.Labels\.none /],
    ['{{ .Nothing }}', / \.Nothing /],
    ['{{ .constructor }}', / \.constructor /],
    ['{{ if .Ref }}', / if \.Ref /],
    ['{{ "a" "b" }}', / "a" "b" /],
    ['{{-}}', /\{\{-\}\} /],
    ['{{ .Ref }}\n\n{{ .Ref', /line 3: \{\{ \.Ref .*\{\{ "\{\{" \}\}/],
    ['{{ .Ref } }', /line 1: .*\{\{ "\{\{" \}\}/],
    [`{{ ${'x'.repeat(10_000)} }}`, /^.{1,300}$/],
  ];
  for (const [template, message] of refused) {
    test(`rejects ${JSON.stringify(template)}`, () => {
      const result = renderTemplate(template, values);
      assert.ok(result.kind === 'problem');
      assert.match(result.message, message);
    });
  }

  test('keeps text without two braces, and replaces a key within any text by its value', () => {
    const text = fc.string({ unit: fc.constantFrom('{', '}', ' ', '-', '.', '"', '\n', 'a', '$') });
    const plain = text.filter((string) => !string.includes('{{'));
    const property = fc.property(plain, plain, (before, after) => {
      assert.deepEqual(renderTemplate(before, values), { kind: 'rendered', text: before, keys: [] });
      const around = `${before.replace(/\{$/, '')}{{ .Ref }}${after}`;
      const expected = `${before.replace(/\{$/, '')}v1${after}`;
      assert.deepEqual(renderTemplate(around, values), { kind: 'rendered', text: expected, keys: ['Ref'] });
    });
    fc.assert(property, { numRuns: runs(500) });
  });

  const hostile: [name: string, unit: string, end: string][] = [
    ['spaces', ' ', '}}'],
    ['closed braces', '}', '}}'],
    ['a literal of backslashes', '\\', '" }}'],
    ['many keys that are not closed', ' .Ref }} {', ''],
  ];
  for (const [name, unit, end] of hostile) {
    test(`takes time proportional to the length: ${name}`, () => {
      const make = (size: number) => `{{${name.includes('literal') ? ' "' : ''}${unit.repeat(size)}${end}`;
      assertLinear(10 * BOUNDS.text, make, (template) => renderTemplate(template, values));
    });
  }

  test('has an input fingerprint that changes with the values of its keys only', () => {
    const other = new Map([...values, ['Vars.port', '81']]);
    assert.equal(inputsHash(['Ref'], values), inputsHash(['Ref'], other));
    assert.notEqual(inputsHash(['Vars.port'], values), inputsHash(['Vars.port'], other));
    assert.notEqual(inputsHash(['Vars.none'], values), inputsHash(['Vars.none'], new Map([['Vars.none', '']])));
  });

  test('finds no ordinal for a pod without a number in its name', () => {
    const plain = templateValues({
      identity: { ...identity, podName: 'edge-x7' },
      labels,
      ref: '',
      commit: '',
      vars: {},
    });
    assert.equal(plain.has('PodOrdinal'), false);
  });

  test("takes the gateway's name from the injector, its label or its pod, in this order", () => {
    assert.equal(gatewayNameOf({ ...identity, gatewayName: 'given' }, labels), 'given');
    assert.equal(gatewayNameOf(identity, labels), 'edge');
    assert.equal(gatewayNameOf(identity, new Map()), 'edge-3');
  });
});

suite('renderContent', () => {
  test('renders text, with its byte order mark', () => {
    const result = renderContent(Buffer.from('\ufeffport={{ .Vars.port }}\r\n'), values);
    assert.ok(result.kind === 'content');
    assert.equal(result.content.toString(), '\ufeffport=80\r\n');
    assert.deepEqual(result.keys, ['Vars.port']);
  });

  test('keeps binary content unchanged', () => {
    const content = Buffer.from('a\0{{ .Nothing }}');
    assert.deepEqual(renderContent(content, values), { kind: 'content', content, keys: [] });
  });
});

test('a Git LFS pointer is distinguished from content', () => {
  const pointer = Buffer.from(`version https://git-lfs.github.com/spec/v1\noid sha256:${'a'.repeat(64)}\nsize 5\n`);
  assert.equal(isLfsPointer(pointer, pointer.length), true);
  assert.equal(isLfsPointer(pointer, 100_000), false);
  assert.equal(isLfsPointer(Buffer.from('version 1'), 9), false);
});
