import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { judgeAnswer } from '../../../../agent/gateway/judge-answer.ts';
import { renderTemplate } from '../../../../shared/domain/files/render-template.ts';

const render = (text: string) => {
  const rendered = renderTemplate(
    text,
    new Map([
      ['Commit', '4f1c'],
      ['Empty', ''],
    ]),
  );
  assert.equal(rendered.kind, 'rendered');
  return rendered.text;
};

const judge = (json: object[], body: string) => judgeAnswer({ json } as never, body, render);

const answer = JSON.stringify({
  result: 'valid',
  errors: null,
  count: 0,
  isOk: true,
  '': { 'a/b': 1, 'm~n': 2 },
  list: ['x', { commit: '4f1c' }],
  __proto__x: 1,
});

suite('a response is as expected if', () => {
  for (const [path, equals] of [
    ['/result', 'valid'],
    ['/errors', null],
    ['/errors', undefined],
    ['/count', 0],
    ['/isOk', true],
    ['//a~1b', 1],
    ['//m~0n', 2],
    ['/list/0', 'x'],
    ['/list/1/commit', '{{ .Commit }}'],
  ] as const) {
    test(`${path} is ${JSON.stringify(equals)}`, () => assert.equal(judge([{ path, equals }], answer), undefined));
  }

  test('its root is the value', () => assert.equal(judge([{ path: '', equals: 'ok' }], '\ufeff"ok"'), undefined));
});

suite('the difference names the value at', () => {
  for (const [path, equals, difference] of [
    ['/result', 'invalid', /has "valid" at \/result, expected is "invalid"$/],
    ['/count', '0', /has 0 at/],
    ['/isOk', 'true', /has true at/],
    ['/errors', false, /has null at/],
    ['/list', 'x', /has a list at/],
    ['/list/00', 'x', /has nothing at/],
    ['/list/length', 2, /has nothing at/],
    ['/constructor', 1, /has nothing at/],
    ['/result/0', 'v', /has nothing at/],
    ['', 'ok', /has an object at its root/],
    ['/result', { a: 1 }, /must be a string, a number/],
    ['/count', 2 ** 53, /keeps exactly/],
  ] as const) {
    test(`${path || 'the root'}, which isn't ${JSON.stringify(equals)}`, () => {
      assert.match(judge([{ path, equals }], answer) ?? '', difference);
    });
  }

  test('the first pointer that differs, on one line and shortened', () => {
    const body = JSON.stringify({ a: 1, b: `x\n\u001b[31m${'y'.repeat(500)}`, c: 'secret' });
    const json = ['/a', '/b', '/c'].map((path) => ({ path, equals: 1 }));
    const difference = judge(json, body) ?? '';
    assert.match(difference, /at \/b/);
    assert.ok(difference.length < 300);
    assert.doesNotMatch(difference, /secret|\p{Cc}/u);
  });
});

suite('a response can not be compared', () => {
  for (const [what, body, difference] of [
    ['without JSON', '<html>', /isn't JSON/],
    ['with too many values', `[${'1,'.repeat(60_000)}1]`, /too many values/],
    ['that is nested too deep', '['.repeat(100) + ']'.repeat(100), /too deep/],
    ['of more than 256 KiB', `"${'x'.repeat(256 * 1024)}"`, /more than 256 KiB/],
  ] as const) {
    test(what, () => assert.match(judge([{ path: '', equals: 1 }], body) ?? '', difference));
  }
});

test('contains is a text with templates, and shows nothing of a response without it', () => {
  const ofCommit = (body: string) => judgeAnswer({ contains: 'commit {{ .Commit }}' }, body, render);
  assert.equal(ofCommit('loaded commit 4f1c.'), undefined);
  assert.match(judgeAnswer({ contains: '{{ .Empty }}' }, 'any', render) ?? '', /is empty/);
  assert.match(ofCommit('loaded commit 1a2b.') ?? '', /^the response doesn't contain the text in expect$/);
});
