import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { refProblem } from '../../../../receiver/sources/ref-problem.ts';
import { isValidRefName } from '../../../../shared/domain/check-ref-name.ts';

suite('the message about an invalid ref explains', () => {
  const invalid = "isn't a valid git ref name";
  for (const [ref, message] of [
    ['v2.0.0\n', String.raw`the ref "v2.0.0\n" ${invalid}: remove the surrounding white space`],
    ['v2 \u00a0', String.raw`the ref "v2 \u00a0" ${invalid}: remove the surrounding white space`],
    ['v 2', `the ref "v 2" ${invalid}: it contains white space`],
    ['', `the ref ${invalid}: it's empty`],
    ['a..b', `the ref "a..b" ${invalid}`],
    ['grün\u202ex..', String.raw`the ref "grün\u202ex.." ${invalid}`],
    ['\u{e0001}..', String.raw`the ref "\udb40\udc01.." ${invalid}`],
    ['"..', String.raw`the ref "\".." ${invalid}`],
    ['x'.repeat(300), `the ref "${'x'.repeat(80)}"… ${invalid}: it has more than 255 bytes`],
  ] as const)
    test(JSON.stringify(ref.slice(0, 20)), () => {
      assert.equal(isValidRefName(ref), false);
      assert.equal(refProblem(ref), message);
    });
});
