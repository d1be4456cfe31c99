import type { Rule } from './rule.ts';

const be = '(?:is|are|was|were|be|been|being)';
const after = (rest: string) => new RegExp(String.raw`\b${be} ${rest}`, 'i');

/** Words that have another meaning in English, or that documentation doesn't use. */
export const WORDING: Rule[] = [
  {
    name: 'people without a name',
    find: [
      [/\b(?:no|some|any|every)body\b/i, 'you, users, an administrator, the client, "no one", or the passive'],
      [/\ba person\b/i, 'a user, an approver, manually'],
    ],
  },
  {
    name: 'programs that talk',
    find: [
      [after(String.raw`told\b(?! apart)`), 'is notified; configure X to'],
      [/\b(?:its|their|the agent's|the host's|an agent's) words\b/i, 'message'],
      [new RegExp(String.raw`(?<!\byou )\b${be} asked\b`, 'i'), 'is queried, is requested'],
      [
        /\b(?:host|server|controller|receiver|agent|GitHub|GitLab|Gitea|git|API) (?:wants|asks)\b/i,
        'requires, requests, queries',
      ],
      [/\b(?:host|server|controller|receiver|agent|git|API) knows (?:that|which|what|whether|of)\b/i, 'can tell, has'],
      [/\b(?:says?|said|told) (?:so|nothing)\b/i, 'reports it, shows nothing'],
    ],
  },
  {
    name: 'ask for',
    find: [[/\bask(?:s|ed|ing)? for (?!help|support|permission|confirmation|a review)/i, 'request, prompt for']],
    budget: 0.3,
  },
  {
    name: 'says',
    find: [
      [
        /\b(?:says?|said) (?:what|which|who|whom|why|how|that|when|whether|where|of)\b/i,
        'shows, lists, reports, explains',
      ],
    ],
    budget: 1,
  },
  {
    name: 'everyday verb',
    find: [
      [
        after(
          String.raw`(?:not )?well\b(?! (?:known|suited|defined|tested|documented|within|below|above|under|over|formed))`,
        ),
        'is healthy',
      ],
      [/\b(?:go|goes|went|gone|going|come|comes|came) back\b/i, 'roll back, return'],
      [/\b(?:taken|takes?|took) back\b/i, 'roll back'],
      [/\b(?:gives?|gave|given) back\b/i, 'return, release'],
      [/\b(?:bring|brings|brought)\b[^.]{0,30}\bin(?:to)? (?:its )?place\b/i, 'deliver'],
      [/\blies? (?:in|over|on|under|there|next|behind)\b|\blands in\b/i, 'is stored, is in, overrides'],
      [/\bstand(?:s|ing)? (?:in|under|next to)\b(?! for)/i, 'is in'],
      [/(?<!\bwhen it )\bcomes to\b(?! (?:mind|pass|a stop|rest))|\bcomes? of it\b/i, 'results in'],
      [/\b(?:on (?:its|their) way|under way)\b/i, 'in progress, syncing'],
      [/\b(?:puts? off|breaks? off|broken off|broke off|cut off)\b/i, 'defer; abort, interrupt'],
      [after(String.raw`away\b(?! from)`), 'is unavailable'],
      [/\bleft out\b/i, 'omitted, skipped'],
      [/\b(?:takes?|took|taken|taking) the place of\b/i, 'replace'],
      [/\bgiven up\b/i, 'abandoned'],
      [/\b(?:goes|went) on\b(?! to\b)/i, 'continue'],
      [/\blet(?:s|ting)? (?:\w+ )?in\b(?! (?:a|the|this|that)\b)/i, 'admit'],
      [after(String.raw`waited for\b`), 'name the subject: the agent waits for it'],
      [after(String.raw`(?:tried|made|looked at) again\b`), 'is retried, is re-created, is checked again'],
      [/\bput right\b/i, 'repair'],
    ],
  },
  {
    name: 'counts',
    find: [
      [/\bcounts? (?:as|only|more|less|too|here|again)\b/i, 'is considered, applies'],
      [/\bcounts(?=[.,;)])|\bcounts? for\b/i, 'applies, applies to; is ignored'],
    ],
    budget: 0.3,
  },
  {
    name: 'is there',
    find: [
      [
        after(
          String.raw`(?:not |already |still |no longer |only )?there(?=[.,;:)|]|$| (?:and|or|if|when|yet|already|for|in|with|by|at|to|as|until|again)\b)`,
        ),
        'exists',
      ],
    ],
  },
  { name: 'in place', find: [[after(String.raw`in place\b`), 'is delivered, is installed']], budget: 0.5 },
  {
    name: 'end',
    find: [[/\b(?:certificate|token|lease|CA|key)s? ends?\b(?! (?:with|in|up)\b)/i, 'expires, exits, shuts down']],
  },
  {
    name: 'the one before',
    find: [
      [/\bthe (?:commit|one|wave|release|try)s? before\b(?! (?:it|the|that|this|a|you|we)\b)/i, 'the previous commit'],
    ],
  },
  {
    name: 'look',
    find: [
      [/\b(?:each|every|one|next|last|a|this|that) looks?\b(?! (?:at|like|into|up|for)\b)/i, 'check, probe'],
      [/\blooked at\b/i, 'checked, read'],
    ],
  },
  {
    name: 'may',
    find: [
      [
        /\b(?:who|you|they|agents?|tenants?|users?|people) may (?:not )?(?:get|update|edit|delete|watch|label|create|set)\b/i,
        'can, is allowed to',
      ],
      [/\bmay (?:not )?(?:read|list|approve|look(?! like| in\b)|patch|write|impersonate)\b/i, 'can, is allowed to'],
    ],
  },
  {
    name: 'rights',
    find: [
      [/\b(?:the|a|your|no|its|their|own|these|those|more|fewer|which|with|needs?) rights\b/i, 'permissions'],
      [/\b(?:the|a|no|your) right (?:to|of)\b(?! (?:left|the left)\b)/i, 'permission'],
    ],
  },
  {
    name: 'old phrase',
    find: [
      [/\bbeside\b/i, 'next to'],
      [/\bmend(?:s|ed|ing)?\b/i, 'fix'],
      [/\banew\b/i, 'again'],
      [/\bshall\b/i, 'must, will'],
      [/\bneeds? (?:it )?not\b/i, "doesn't need to"],
      [/\b(?:tell|tells|told|telling) of\b/i, 'report'],
      // `of its own pod` is ordinary English; `a pod of its own` is not.
      [
        /(?<!\bno \w+ )\bof (?:its|their|your|our|his|her|my) own(?=[.,;:)]|$| (?:and|or|in|for|that|which|to|where|by|with|each|is|are)\b)/i,
        'its own …',
      ],
      [/\bbe (?:it|they)\b/i, 'whether'],
      [/\breckon(?:s|ed|ing)?\b/i, 'estimate'],
      [/\bheed(?:s|ed|ing)?\b/i, 'respect'],
    ],
  },
  {
    name: 'term',
    find: [
      [/\bfolders?\b/i, 'directory'],
      [/\bgit hosts?\b/i, 'git server'],
      [/\bmade[- ]up\b/i, 'fabricated'],
      [/\bstrangers?\b/i, 'unauthenticated client'],
      [/\bleft alone\b/i, 'unchanged'],
      [/\bprocessor time\b/i, 'CPU time'],
    ],
    apart: true,
  },
  { name: 'answer', find: [[/\banswer(?:s|ed|ing)?\b/i, 'response, respond']], budget: 1, apart: true },
  {
    name: 'identifier',
    find: [
      [/\b(?:reckon|mend|heed|beside|anew|put right|made up)\b/, 'estimate, fix, respect, nextTo, again, repair, fake'],
      [/\b(?:whoever|whom|(?:no|some|any|every)body|strangers?)\b/, 'user, client, owner'],
      [/\b(?:tellings?|told|asked again)\b/, 'message, notified, retried'],
      [/\blook(?:ed|s)? (?:over|again|at)\b/, 'resync, requeue, read'],
      [/\b(?:of late|meanwhile|so (?:many|much|long|often))\b/, 'recent, maximum, delay'],
      [/\b(?:under way|is well|left alone|goes? back)\b/, 'inProgress, isHealthy, unchanged, rollBack'],
      [/^least (?!recent|used)/, 'min'],
      [/^most (?!recent|specific|common)/, 'max'],
    ],
    kinds: ['identifier'],
  },
  { name: 'term in an identifier', find: [[/\bfolders?\b/, 'directory']], kinds: ['identifier'], apart: true },
];
