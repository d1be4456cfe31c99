import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { refProblem } from '../../../../receiver/sources/ref-problem.ts';
import { isValidRefName } from '../../../../shared/domain/git/check-ref-name.ts';

suite('the message about an invalid ref shows', () => {
  for (const [ref, shown, limit] of [
    ['v2.0.0\n', String.raw`"v2.0.0\n"`],
    ['v2 \u00a0', String.raw`"v2 \u00a0"`],
    ['v 2', '"v 2"'],
    ['', ''],
    ['a..b', '"a..b"'],
    ['grün\u202ex..', String.raw`"grün\u202ex.."`],
    ['\u{e0001}..', String.raw`"\udb40\udc01.."`],
    ['"..', String.raw`"\".."`],
    ['x'.repeat(300), `"${'x'.repeat(80)}"…`, /\b255\b/],
  ] as const)
    test(JSON.stringify(ref.slice(0, 20)), () => {
      assert.equal(isValidRefName(ref), false);
      const message = refProblem(ref);
      assert.equal(/".*"…?/.exec(message)?.[0] ?? '', shown);
      assert.match(message, limit ?? /./);
    });
});
