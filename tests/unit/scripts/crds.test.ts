import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { parse } from 'yaml';
import { generateCrds } from '../../../scripts/generate/crds.ts';
import type { SchemaNode } from '../../../scripts/generate/json-schema.ts';

/** Fields whose size the API server checks itself, and a value of several types, which the controller doesn't keep. */
const EXCEPTIONS = ['.apiVersion', '.kind', '.metadata', '.spec.gateway.verify.requests[].expect.json[].equals'];

/** CEL rules that bound the keys of a map, which OpenAPI cannot. */
const KEY_RULES = [
  /^self\.all\(key, size\(key\) <= \d+\)$/,
  /^self\.all\(key, key\.matches\('\^[^*+]*\{0,\d+\}[^*+]*\$'\)\)$/,
];

/** Places of a schema whose size has no bound. */
function unbounded(node: SchemaNode, path: string): string[] {
  if (EXCEPTIONS.includes(path)) return [];
  const { type, properties = {}, items, additionalProperties: values } = node;
  const below = Object.entries(properties).flatMap(([name, child]) => unbounded(child, `${path}.${name}`));
  const isText = type === 'string' || node['x-kubernetes-int-or-string'] === true;
  const hasBoundedKeys = node['x-kubernetes-validations']?.some(({ rule }) =>
    KEY_RULES.some((known) => known.test(rule)),
  );
  return [
    ...below,
    ...(isText && node.maxLength === undefined && !node.enum ? [`${path}: the length of the text`] : []),
    ...(type === 'array' && node.maxItems === undefined ? [`${path}: the number of items`] : []),
    ...(type === 'array' && !items ? [`${path}: the items`] : []),
    ...(items ? unbounded(items, `${path}[]`) : []),
    ...(values && node.maxProperties === undefined ? [`${path}: the number of keys`] : []),
    ...(values && !hasBoundedKeys ? [`${path}: the length of keys`] : []),
    ...(values ? unbounded(values, `${path}{}`) : []),
    ...(type === 'object' && !values && Object.keys(properties).length === 0 ? [`${path}: any fields`] : []),
    ...(type === undefined && !isText ? [`${path}: any type`] : []),
    ...(node['x-kubernetes-preserve-unknown-fields'] ? [`${path}: unknown fields`] : []),
  ];
}

/** Places of an empty list, and of a default below a list. */
function rewritten(node: SchemaNode, path: string, isInList = false): string[] {
  const { properties = {}, items, additionalProperties: values, required } = node;
  return [
    ...(required?.length === 0 ? [`${path}: an empty list, which the API server omits`] : []),
    ...(isInList && node.default !== undefined ? [`${path}: a default in a list, which server-side apply owns`] : []),
    ...Object.entries(properties).flatMap(([name, child]) => rewritten(child, `${path}.${name}`, isInList)),
    ...(items ? rewritten(items, `${path}[]`, true) : []),
    ...(values ? rewritten(values, `${path}{}`, isInList) : []),
  ];
}

/** Only the controller writes a release, with a `spec.sync` that the CRD of GatewaySyncs limits. */
const isUnlimited = (place: string): boolean => !/^\.spec\.sync: (any|unknown) fields$/.test(place);

suite('the CRDs', () => {
  const crds = Object.entries(generateCrds()).filter(([file]) => file.startsWith('chart/crds/'));
  assert.equal(crds.length, 3);

  for (const [file, yaml] of crds) {
    test(`limit the size of every field: ${file}`, () => {
      for (const { schema } of parse(yaml).spec.versions)
        assert.deepEqual(unbounded(schema.openAPIV3Schema, '').filter(isUnlimited), []);
    });

    test(`have nothing that the API server stores in another way than it is written: ${file}`, () => {
      for (const { schema } of parse(yaml).spec.versions) assert.deepEqual(rewritten(schema.openAPIV3Schema, ''), []);
    });
  }
});
