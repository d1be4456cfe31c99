import type { Kind } from './passage.ts';

/** Something that no native writer of English would write. A space in a pattern also matches the end of a line. */
export interface Rule {
  name: string;
  instead: string;
  find: RegExp[];
  /** Hits per 1,000 words that are ordinary English: only more count. Without it, no hit is allowed. */
  budget?: number;
  /** Text that the rule is about; without it, everything but identifiers. */
  kinds?: Kind[];
  files?: RegExp;
  /** The rule is about terms or structure: its hits don't add to the density. */
  apart?: true;
}

/** Where a sentence, a clause or a cell of a table begins. */
const start = String.raw`(?<=^|[.:;|] |\*\*)`;
const opening = (rest: string) => new RegExp(start + rest);

const possessive = '(?:its|their|your|our|his|her|my)';

export const RULES: Rule[] = [
  {
    name: 'clause as a noun',
    instead: 'name the noun: "Files that can\'t be fetched …", "A user who can …"',
    find: [
      /\bwho(?:m?ever|m)\b/i,
      opening(
        String.raw`Who (?:has|may|can|cannot|reads|pushed|runs|owns|plans|uses|fits|failed|edits|looks|wants)\b(?![^.]*\?)`,
      ),
      opening(
        String.raw`What (?!(?:is|are|does|do|to|if|happens)\b[^.]{0,60}\?)(?:it|they|a|the|no|one|nobody|somebody|is|was|has|can|cannot|may|must|differs|fits|waits|changes|remains|stays|comes|counts|looks|failed|runs|follows|git|helm|kubectl)\b(?![^.]*\?)`,
      ),
      /, since (?:who|what)\b/i,
    ],
  },
  {
    name: 'doc comment without a head',
    instead: 'begin with a noun phrase, or a verb in the third person',
    find: [
      /^(?:What|Whom?|Whose|Where|Which|Of|So (?:many|much|long|often|far)|(?:In|By|From|For|To|With|At|On) (?:which|whom|what)|Those (?:that|who|which|of))\b(?![^.]*\?)/,
    ],
    kinds: ['doc comment'],
  },
  {
    name: 'what',
    instead: 'name the noun: the files that changed, the content of the report',
    find: [
      /(?<!^#+ |\| |\b(?:sees?|find out|knows?|understand|decides?|determines?) )\bwhat (?:is|was|are|were|has|had|it|they|a|an|the|one|others?|can|cannot|may|must|does|did|happened|changed|changes|follows|differs|waits|comes|came|remains)\b(?![^.]*\?)/i,
    ],
    budget: 1,
  },
  {
    name: 'pronoun for a noun',
    instead: 'repeat the noun',
    find: [/\b(?:that|those|the ones?) of\b(?! course\b)/i],
    budget: 0.5,
  },
  {
    name: 'whatever',
    instead: 'regardless of',
    find: [/, (?:whatever|wherever|however (?:many|much|long|often))\b/i],
    budget: 0.3,
  },
  {
    name: 'opener that talks',
    instead: 'Returns, Reports, Checks, Admits',
    find: [/^(?:Gives|Tells|Says|Lets|Brings|Has|Knows|Looks)\b/],
    kinds: ['doc comment'],
  },
  {
    name: 'people without a name',
    instead: 'you, users, an administrator, the client, "no one", or the passive',
    find: [/\b(?:no|some|any|every)body\b/i, /\ba person\b/i],
  },
  {
    name: 'programs that talk',
    instead: 'is notified, configure X to, requests, message, does not support',
    find: [
      /\b(?:is|are|be|been|was|were|being) told\b(?! apart)/i,
      /\b(?:its|their|the agent's|the host's|an agent's) words\b/i,
      /(?<!\byou )\b(?:is|are|be|been|was|were) asked\b/i,
      /\bask(?:s|ed|ing)? for (?!help|support|permission|confirmation|a review)\b/i,
      /\b(?:host|server|controller|receiver|agent|GitHub|GitLab|Gitea|git|API) (?:wants|asks|knows (?:no|nothing|that|which|what|whether|of))\b/i,
      /\b(?:says?|said|told) (?:so|nothing)\b/i,
    ],
  },
  {
    name: 'says',
    instead: 'shows, lists, reports, explains',
    find: [/\b(?:says?|said) (?:what|which|who|whom|why|how|that|when|whether|where|of)\b/i],
    budget: 1,
  },
  {
    name: ', since',
    instead: 'because, or two sentences',
    find: [/, since (?!(?:v?\d|_|the last|then|when|version|Kubernetes)\b)/i],
    budget: 0.3,
  },
  {
    name: 'two colons in a sentence',
    instead: 'two sentences',
    find: [/(?<!\*|[A-Z]{4}): (?:[^.!?|:]|[.:](?=\S)){0,200}[a-z]{2}(?:[^.!?|:]|[.:](?=\S)){0,100}(?<!\*): /],
    kinds: ['page', 'chart', 'message', 'doc comment', 'comment'],
    apart: true,
  },
  {
    name: 'by',
    instead: 'in waves, with Helm, per address, over TLS, using, identified by',
    find: [
      /\bby (?:waves|the (?:same|followed|chart|key)|address|certificate|hash|digest|Helm|Argo CD|Krew|ssh|https?(?!:)|TLS|its name|chance|which)\b/i,
    ],
  },
  {
    name: 'at a place',
    instead: 'on GitHub, on the git server, on the node',
    find: [/\bat (?:GitHub|GitLab|Bitbucket|the (?:git )?host|(?:its|the) node)\b(?!')/i],
  },
  {
    name: 'is well',
    instead: 'is healthy',
    find: [
      /\b(?:is|are|was|were|be|been|being|stays?|stops? to be) (?:not )?well\b(?! (?:known|suited|defined|tested|documented|within|below|above|under|over|formed))/i,
    ],
  },
  { name: 'go back', instead: 'roll back, return', find: [/\b(?:go|goes|went|gone|going|come|comes|came) back\b/i] },
  {
    name: 'everyday verb',
    instead:
      'deliver, result in, override, is unavailable, in progress, roll back, defer, abort, return, is ignored, omit, replace, abandon, continue, interrupt, admit',
    find: [
      /\b(?:bring|brings|brought)\b[^.]{0,30}\bin(?:to)? (?:its )?place\b/i,
      /\blies? (?:in|over|on|under|there|next|behind)\b/i,
      /(?<!\bwhen it )\bcomes to\b(?! (?:mind|pass|a stop|rest))/i,
      /\bcounts? for nothing\b/i,
      /\b(?:on (?:its|their) way|under way)\b/i,
      /\b(?:taken|takes?|took) back\b/i,
      /\b(?:puts? off|breaks? off|broken off|broke off)\b/i,
      /\b(?:gives?|gave|given) back\b/i,
      /\b(?:is|are|was|were|be|been) away\b(?! from)/i,
      /\blands in\b/i,
      /\bcomes? of it\b/i,
      /\bstand(?:s|ing)? (?:in|under|next to)\b(?! for)/i,
      /\bput right\b/i,
      /\bleft out\b/i,
      /\b(?:takes?|took|taken|taking) the place of\b/i,
      /\bgiven up\b/i,
      /\b(?:goes|went) on\b(?! to\b)/i,
      /\bcut off\b/i,
      /\blet(?:s|ting)? (?:\w+ )?in\b(?! (?:a|the|this|that)\b)/i,
      /\b(?:is|are|was|were|be|been) waited for\b/i,
    ],
  },
  {
    name: 'is there',
    instead: 'exists',
    find: [
      /\b(?:is|are|was|were|be) (?:not |already |still |no longer |only )?there(?=[.,;:)|]|$| (?:and|or|if|when|yet|already|for|in|with|by|at|to|as|until|again)\b)/i,
    ],
  },
  {
    name: 'in place',
    instead: 'is delivered, is installed',
    find: [/\b(?:is|are|was|were|be) in place\b/i],
    budget: 0.5,
  },
  {
    name: 'tokens that end',
    instead: 'expire, exit, shut down',
    find: [/\b(?:certificate|token|lease|CA|key)s? ends?\b(?! (?:with|in|up)\b)/i],
  },
  {
    name: 'the one before',
    instead: 'the previous commit',
    find: [/\bthe (?:commit|one|wave|release|try)s? before\b(?! (?:it|the|that|this|a|you|we)\b)/i],
  },
  {
    name: 'again',
    instead: 'retried, re-created, re-read, queried again',
    find: [/\b(?:is|are|was|were|be|been|being) (?:tried|made|looked at|asked for) again\b/i, /\bonce more\b/i],
  },
  {
    name: 'look as a noun',
    instead: 'check, probe, request',
    find: [/\b(?:each|every|one|next|last|a|this|that) looks?\b(?! (?:at|like|into|up|for)\b)/i, /\blooked at\b/i],
  },
  {
    name: 'counts',
    instead: 'is considered, is ignored, applies',
    find: [/\bcounts? (?:as|for|only|more|less|too|here|again)\b/i, /\bcounts(?=[.,;)])/i],
    budget: 0.3,
  },
  {
    name: 'negated noun',
    instead: "isn't a URL; has no, doesn't have any",
    find: [
      /(?<!\bthere )\b(?:is|are|was|were) no (?!(?:longer|more|different|better|worse|slower|faster|way|need|reason|limit|other|single|guarantee|problem|substitute|later|larger|smaller|good|match for)\b)[a-z]+/i,
      /(?<!\bthere )\b(?:is|are|was|were) none\b(?! of)/i,
      /\bknows? (?:no|none|nothing)\b/i,
      /\bnothing of\b/i,
      /\bnone of (?:it|what|the kind)\b/i,
      /\bknown of\b/i,
    ],
  },
  {
    name: 'limit after the number',
    instead: 'at most 64 KiB',
    find: [/\b\d[\w,.]*(?: [A-Za-z%]+){0,2} at (?:most|least)\b(?! (?:\d|one|two|three|a|once|twice)\b)/i],
  },
  {
    name: 'may',
    instead: 'can, is allowed to',
    find: [
      /\b(?:who|you|they|agents?|tenants?|users?|people) may (?:not )?(?:get|update|edit|delete|watch|label|create|set)\b/i,
      /\bmay (?:not )?(?:read|list|approve|look(?! like| in\b)|patch|write|impersonate)\b/i,
    ],
  },
  {
    name: 'rights',
    instead: 'permissions',
    find: [
      /\b(?:the|a|your|no|its|their|own|these|those|more|fewer|which|with|needs?) rights\b/i,
      /\b(?:the|a|no|your) right (?:to|of)\b(?! (?:left|the left)\b)/i,
    ],
  },
  {
    name: 'adverb that comes late',
    instead: 'even if; also before the verb',
    find: [
      /, also (?:if|when|where|in|after|with|without|while|those)\b/i,
      /\balso where\b/i,
      /\b(?:stays|left|meant(?: to be)?|begins?) so\b(?! (?:that|much|many|far|long)\b)/i,
    ],
  },
  {
    name: ', too',
    instead: 'also, before the verb',
    find: [/, also (?:as|on|by|for|from|to|of|at|no|not|the|a|an)\b/i, /, too(?=[.,;:)]|$| (?:and|but|or|if|when)\b)/i],
    budget: 0.2,
  },
  {
    name: 'adverb',
    instead: 'in sequence, if known, consecutive, briefly',
    find: [/\bone after (?:the other|another)\b/i, /\bas far as\b/i, /\bin a row\b/i, /\bfor a moment\b/i],
    budget: 0.5,
  },
  {
    name: 'sentence without a verb',
    instead: 'If empty, …; If omitted, …; Default: …',
    find: [/\bLeft out:/, /\bEmpty (?:means|keeps|allows)\b/, /; (?:when )?empty (?:means|keeps|allows)\b/],
  },
  {
    name: 'any more',
    instead: 'no longer',
    find: [/\bany more\b(?=[.,;:)|]|$| (?:and|if|when|because|by|in|for|on|from|to|is|are)\b)/i],
  },
  { name: 'meanwhile', instead: 'in the meantime', find: [/\bmeanwhile\b/i] },
  {
    name: 'so many',
    instead: 'maximum, delay before …, after this many …; recently',
    find: [
      /\bso (?:many|often|long)\b(?! as\b)(?![^.;]{0,80}\bthat\b)/i,
      opening(String.raw`So much\b(?! for\b)`),
      /\bof late\b/i,
    ],
  },
  {
    name: 'fronted of',
    instead: 'The slowest of several bodies …',
    find: [opening(String.raw`Of (?!course\b|these,|those,)`)],
  },
  {
    name: 'where for if',
    instead: 'if, when',
    find: [
      /\b(?:only|even|except) where\b/i,
      /\bwhere (?:nothing|none|nobody|that|there)\b/i,
      /\b(?:undefined|none|empty|null|false|true|0) where\b/i,
      opening(String.raw`Where (?!possible|needed|appropriate|applicable|necessary|to\b)[a-z](?![^.]*\?)`),
    ],
    budget: 0.3,
  },
  {
    name: 'old phrase',
    instead: "next to; fix; must, will; doesn't need to; its own …; estimate; respect",
    find: [
      /\bbeside\b/i,
      /\bmend(?:s|ed|ing)?\b/i,
      /\banew\b/i,
      /\bshall\b/i,
      /\bneeds? (?:it )?not\b/i,
      /\b(?:tell|tells|told|telling) of\b/i,
      // `of its own pod` is ordinary English; `a pod of its own` is not.
      new RegExp(
        String.raw`(?<!\bno \w+ )\bof ${possessive} own(?=[.,;:)]|$| (?:and|or|in|for|that|which|to|where|by|with|each|is|are)\b)`,
        'i',
      ),
      /\bbe (?:it|they)\b/i,
      /\breckon(?:s|ed|ing)?\b/i,
      /\bheed(?:s|ed|ing)?\b/i,
      /\bhas to be told\b/i,
    ],
  },
  {
    name: 'term',
    instead: 'directory, git server, fabricated, unauthenticated client, unchanged, CPU time',
    find: [
      /\bfolders?\b/i,
      /\bgit hosts?\b/i,
      /\bmade[- ]up\b/i,
      /\bstrangers?\b/i,
      /\bleft alone\b/i,
      /\bprocessor time\b/i,
    ],
    apart: true,
  },
  { name: 'answer', instead: 'response, respond', find: [/\banswer(?:s|ed|ing)?\b/i], budget: 1, apart: true },
  {
    name: 'After this page',
    instead: 'This page shows you how to …',
    find: [/^After this page/],
    kinds: ['page'],
    apart: true,
  },
  {
    name: 'description that is a question',
    instead: 'begin with a verb or a noun: Skip …, Maximum …',
    find: [/^(?:Whether|How|What|Where|Why|Who)\b/],
    kinds: ['message'],
    files: /^shared\/api\//,
    apart: true,
  },
  {
    name: 'identifier',
    instead: 'estimate, repair, resync, MIN_, MAX_, message, requeue, permission, healthy, in progress',
    find: [
      /\b(?:reckon|mend|heed|tellings?|meanwhile|anew|beside|strangers?|whoever|whom|(?:no|some|any|every)body|told)\b/,
      /\b(?:put right|look(?:ed|s)? (?:over|again|at)|made up|of late|so (?:many|much|long|often)|under way|is well|left alone|goes? back|asked again)\b/,
      /^(?:least|most) (?!recent|used|specific|common)/,
    ],
    kinds: ['identifier'],
  },
  { name: 'term in an identifier', instead: 'directory', find: [/\bfolders?\b/], kinds: ['identifier'], apart: true },
];
