import type { Rule } from './rule.ts';

/** Matches the beginning of a sentence, a clause, or a cell of a table. */
const opening = (rest: string) => new RegExp(String.raw`(?<=^|[.:;|] |\*\*)${rest}`);

const noun = "a noun: files that can't be fetched …, a user who can …";
const notInQuestion = String.raw`\b(?![^.]*\?)`;

/** Sentences with the structure of German sentences. */
export const GRAMMAR: Rule[] = [
  {
    name: 'clause as a noun',
    find: [
      [/\bwho(?:m?ever|m)\b/i, noun],
      [
        opening(
          `Who (?:has|may|can|cannot|reads|pushed|runs|owns|plans|uses|fits|failed|edits|looks|wants)${notInQuestion}`,
        ),
        noun,
      ],
      [
        opening(
          `What (?:it|they|a|the|no|one|nobody|somebody|is|was|has|can|cannot|may|must|differs|fits|waits|changes|remains|stays|comes|counts|looks|failed|runs|follows|git|helm|kubectl)${notInQuestion}`,
        ),
        noun,
      ],
      [/, since (?:who|what)\b/i, noun],
    ],
  },
  {
    name: 'what',
    find: [
      [
        /(?<!^#+ |\| |\b(?:sees?|find out|knows?|understand|decides?|determines?) )\bwhat (?:is|was|are|were|has|had|it|they|an?|the|one|others?|can|cannot|may|must|does|did|happened|changed|changes|follows|differs|waits|comes|came|remains)\b(?![^.]*\?)/i,
        'the noun: the files that changed, the content of the report',
      ],
    ],
    budget: 1,
  },
  {
    name: 'opener of a doc comment',
    find: [
      [
        /^(?:What|Whom?|Whose|Where|Which|Of|So (?:many|much|long|often|far)|(?:In|By|From|For|To|With|At|On) (?:which|whom|what)|Those (?:that|who|which|of))\b(?![^.]*\?)/,
        'a noun phrase, or a verb in the third person',
      ],
      [/^(?:Gives|Tells|Says|Lets|Brings|Has|Knows|Looks)\b/, 'Returns, Reports, Checks, Admits'],
    ],
    kinds: ['doc comment'],
  },
  {
    name: 'fronted "of"',
    find: [[opening(String.raw`Of (?!course\b|these,|those,)`), 'The slowest of several bodies …']],
  },
  {
    name: 'pronoun for a noun',
    find: [[/\b(?:that|those|the ones?) of\b(?! course\b)/i, 'the noun again']],
    budget: 0.5,
  },
  {
    name: 'since',
    find: [[/, since (?!(?:v?\d|_|the last|then|when|version|Kubernetes)\b)/i, 'because, or two sentences']],
    budget: 0.3,
  },
  {
    name: 'where',
    find: [
      [/\b(?:only|even|except) where\b/i, 'only if, even if'],
      [/\bwhere (?:nothing|none|nobody|that|there)\b/i, 'if, when'],
      [/\b(?:undefined|none|empty|null|false|true|0) where\b/i, 'if, when'],
      [
        opening(String.raw`Where (?!possible|needed|appropriate|applicable|necessary|to\b)[a-z](?![^.]*\?)`),
        'If, When',
      ],
    ],
    budget: 0.3,
  },
  {
    name: 'whatever',
    find: [[/, (?:whatever|wherever|however (?:many|much|long|often))\b/i, 'regardless of']],
    budget: 0.3,
  },
  {
    name: 'negated noun',
    find: [
      [
        /(?<!\bthere )\b(?:is|are|was|were) no (?!(?:longer|more|different|better|worse|slower|faster|way|need|reason|limit|other|single|guarantee|problem|substitute|later|larger|smaller|good|match for)\b)[a-z]+/i,
        "isn't a",
      ],
      [/(?<!\bthere )\b(?:is|are|was|were) none\b(?! of)/i, "doesn't exist, isn't one"],
      [/\bknows? (?:no|none|nothing)\b/i, "doesn't support, doesn't have"],
      [/\b(?:nothing of|none of (?:it|what))\b/i, 'none of the files'],
      [/\bknown of\b/i, 'known about'],
    ],
  },
  {
    name: 'limit after the number',
    find: [
      [
        /\b\d[\w,.]*(?: [A-Za-z%]+){0,2} at (?:most|least)\b(?! (?:\d|one|two|three|a|once|twice)\b)/i,
        'at most 64 KiB',
      ],
    ],
  },
  {
    name: 'so many',
    find: [
      [/\bso (?:many|often|long)\b(?! as\b)(?![^.;]{0,80}\bthat\b)/i, 'maximum, delay before …, after this many …'],
      [opening(String.raw`So much\b(?! for\b)`), 'maximum, amount'],
    ],
  },
  {
    name: 'late adverb',
    find: [
      [
        /, also (?:if|when|where|in|after|with|without|while|those)\b|\balso where\b/i,
        'even if; also, before the verb',
      ],
      [/\b(?:stays|left|meant(?: to be)?|begins?) so\b(?! (?:that|much|many|far|long)\b)/i, 'unchanged, intended'],
      [/\bany more\b(?=[.,;:)|]|$| (?:and|if|when|because|by|in|for|on|from|to|is|are)\b)/i, 'no longer'],
      [/\bmeanwhile\b/i, 'in the meantime'],
      [/\bof late\b/i, 'recently'],
      [/\bonce more\b/i, 'again'],
    ],
  },
  {
    name: 'too',
    find: [
      [/, also (?:as|on|by|for|from|to|of|at|no|not|the|an?)\b/i, 'also, before the verb'],
      [/, too(?=[.,;:)]|$| (?:and|but|or|if|when)\b)/i, 'also, before the verb'],
    ],
    budget: 0.2,
  },
  {
    name: 'adverb',
    find: [
      [/\bone after (?:the other|another)\b/i, 'in sequence, one at a time'],
      [/\bas far as\b/i, 'if known, where possible'],
      [/\bin a row\b/i, 'consecutive'],
      [/\bfor a moment\b/i, 'briefly'],
    ],
    budget: 0.5,
  },
  {
    name: 'fragment',
    find: [
      [/\bLeft out:/, 'Default: …; If omitted, …'],
      [/\bEmpty (?:means|keeps|allows)\b|; (?:when )?empty (?:means|keeps|allows)\b/, 'If empty, …'],
    ],
  },
  {
    name: 'by',
    find: [
      [
        /\bby (?:waves|the (?:same|followed|chart|key)|address|certificate|hash|digest|Helm|Argo CD|Krew|ssh|https?(?!:)|TLS|its name|chance|which)\b/i,
        'in waves, with Helm, per address, over TLS, using, identified by',
      ],
    ],
  },
  {
    name: 'at a place',
    find: [
      [
        /\bat (?:GitHub|GitLab|Bitbucket|the (?:git )?host|(?:its|the) node)\b(?!')/i,
        'on GitHub, on the git server, on the node',
      ],
    ],
  },
];
