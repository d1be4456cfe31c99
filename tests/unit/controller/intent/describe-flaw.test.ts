import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { describeFlaw } from '../../../../controller/intent/describe-flaw.ts';

const suggested = (name: string, prefix = '') =>
  /set spec\.git\.tagPrefix to (.*)$/.exec(describeFlaw(name, prefix))?.[1];

suite("the flaw of a tag that isn't a version", () => {
  test('suggests a prefix that the API server accepts', () => {
    assert.equal(suggested('site-v1.6.0'), 'site-');
    assert.equal(suggested('site-v1.6.0', 'site'), 'site-');
    assert.equal(suggested('v-1.6.0'), 'v-');
    assert.equal(suggested('app2-v1.6.0'), 'app2-');
    assert.equal(suggested('app-2.0-v1.6.0', 'app-'), 'app-2.0-');
  });

  test('names the numbers that have a leading zero', () => {
    for (const [name, zero] of Object.entries({ '1.02.3': '02', '1.2.3-rc.01': '01', '1.2.3-02+1': '02' }))
      assert.ok(describeFlaw(name, '').startsWith(`${zero} `), describeFlaw(name, ''));
  });

  test('suggests no prefix that the API server refuses', () => {
    for (const name of ['-1.2.3', '-v1.2.3', '--1.2.3', '-V1.2.3', '-site-1.2.3', `${'x'.repeat(128)}-1.2.3`])
      assert.equal(suggested(name), undefined, name);
  });
});
