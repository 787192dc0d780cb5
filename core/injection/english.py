"""Orders to a language model in English, and in the marks of its own formats."""

from __future__ import annotations

from core.injection.rule import G10, G25, G40, G80, Row
from core.model import InjectionKind

_BLOB_REACH = r"[^!?\n]{0,80}?"
_MODEL = (
    r"(?:an? |any |all |the |other |every )?(?:ai|a\.i\.|llms?|gpt|chatgpt|claude|gemini|copilot|bard|(?:large )?language models?"
    r"|(?:ai |virtual |language )?assistants?|chat ?bots?|(?:ai|llm|automated|autonomous) (?:agents?|systems?|models?|tools?|reviewers?)"
    r"|summari[sz]ers?)"
)
_YOUR_REPLY = r"your (?:\w+ ){0,2}(?:reply|response|answer|output|summary|review)s?\b"
_TOLD = (
    r"(?:system (?:prompt|message|instructions?)|(?:initial|hidden|original|secret|internal|full|entire) (?:prompt|instructions?|configuration)"
    r"|(?:prompt|instructions) verbatim|words above|text above|everything above|(?:text|content)s? of the prompt"
    r"|(?:conversation|chat) (?:history|log)|developer message|your (?:instructions|prompt|secrets|rules|guidelines))"
)

_K = InjectionKind
ENGLISH: tuple[Row, ...] = (
    (
        _K.OVERRIDE,
        False,
        "instruction|directi|prompt|rules|guideline|command|orders|programming|told|policy|policies|request|above",
        r"(?<!never )(?<!n't )(?<!not )\b(?:ignor|disregard|forget|overrid|bypass|neglect|discard|abandon|drop)(?:e|es|ing|ting)?\b"
        rf"(?:{G25}\b(?:previous(?:ly)?|prior|above|earlier|preceding|foregoing|all|any|your|these|existing|original|initial|system|other"
        rf"|everything|content|safety|usage)\b{G25}(?:instructions?|directions?|directives?|prompts?|rules|guidelines?|commands"
        r"|orders|programming|training|told|polic(?:y|ies)|requests?|above)\b|,? (?:the )?instructions? *,|,? the user\b)",
    ),
    (
        _K.OVERRIDE,
        False,
        "ignore the user|disregard the user|forget everything|forget all",
        r"\b(?:ignore|disregard) the user(?:'s)? (?:and|request|question|prompt|input)|\bforget (?:everything|all) (?:you|that you|we|above|before|i)",
    ),
    (
        _K.OVERRIDE,
        False,
        "new instruction|new directive|new task|new rules|new role|new goal|new orders|new objective|rules have changed",
        r"\byour (?:new|updated|real|actual|true) (?:instructions?|directives?|tasks?|rules|role|goal|objective|orders?)\b *(?:is|are|:|supersedes?|overrides?|now)"
        r"|(?:^|[.!>#*\]] ?)new (?:system )?(?:instructions?|directives?|rules|orders): *(?=you|your|from|do|ignore|respond|reply|always|never)"
        r"|\byour rules have changed",
    ),
    (
        _K.OVERRIDE,
        False,
        "instruction|directive|rules",
        rf"\b(?:instructions?|directives?|rules) (?:above |below )?(?:supersedes?|overrides?|replaces?) (?:all|any|your|every){G25}"
        r"(?:ones|instructions?|directives?|rules|prompts?|prior|previous)",
    ),
    (
        _K.ROLE,
        False,
        "<|[inst]|[/inst]|[system]|[/system]",
        r"<\|(?:im_start|im_end|system|user|assistant|start_header_id|end_header_id|endoftext|end_of_text|eot_id|end)\|>"
        r"|\[/?inst\]|<<sys>>|<start_of_turn>|\[/?system\](?=\s*(?:you|ignore|:))",
    ),
    (
        _K.ROLE,
        False,
        "<system|</system|<assistant|</assistant|<thinking>|<instructions>|</user>|</source|</document|</context",
        r"</?system(?:[_ -](?:prompt|message|instructions?|reminder))?>|</?assistant>|<thinking>(?=\s*(?:the user|i ))"
        r"|</(?:source|sources|document|context|user|user_input)>\s{0,4}(?=\S)",
    ),
    (
        _K.ROLE,
        False,
        "system|end of",
        r"^[ \t>*#\-\[(]{0,6}system(?: (?:note|prompt|message|override|update|alert|instructions?|notice|admin(?:istrator)?))?[*\])]{0,3} ?: ?(?=\S)"
        r"|\b(?:important )?system (?:update|override|alert): ?(?=your|you|ignore|all|safety)"
        r"|[#=\-*]{3} ?(?:end|begin(?:ning)?|start) of (?:the )?(?:user |system |untrusted )?(?:inputs?|prompts?|context|sources?|documents?|data|instructions?)",
    ),
    (
        _K.ROLE,
        True,
        "assistant:|assistant :|(assistant)|ai:",
        r"^[ \t>*#]{0,4}(?:assistant|ai)[*]{0,2} ?: ?(?=sure|of course|certainly|okay|ok|here|yes|i (?:will|am|have))"
        r"|\((?:assistant)\): ?i (?:have|will|should)",
    ),
    (
        _K.ADDRESSED,
        False,
        "ai|a.i.|llm|gpt|claude|gemini|copilot|bard|language model|assistant|chat bot|chatbot|agent|summari"
        "|this page|this text|this document|this article|this ticket|this e-mail|this email|this website|this record",
        rf"(?:^|[.!?\"'(\[>#*:] ?)(?:important |special |hidden )?(?:notes?|notices?|messages?|instructions?|attention|dear|hey|hello|warning)[ ,:]+(?:(?:for|to|all) )?{_MODEL}\b(?! ?-?(?:powered|based|generated|ethics|research|policy|act|system card))"
        rf"|\bif you(?:'re| are) {_MODEL}\b{G80}(?:,|then|please|you must|you should|reading|processing|reviewing|summari)"
        rf"|\b{_MODEL} (?:\w+ )?(?:summari[sz]|read|process|review|index|crawl|pars|scrap|analy[sz])\w* this {G25}(?:must|should|shall|are required|is required|will|please|has to|have to)"
        rf"|\b(?:when|before|while|after) (?:you )?(?:summari[sz]|process|read|review|analy[sz])\w* this (?:page|text|document|article|ticket|e-?mail|website|record){G10},? ?(?:you must|you should|always|also (?:send|e-?mail|include|add|forward|call)|please (?:say|state|include|add|recommend|rank)|e-?mail|append|rate|rank|recommend|state that|say that|do not mention)",
    ),
    (
        _K.ADDRESSED,
        False,
        "before responding|before you answer|before answering|the user|your user",
        r"\bbefore (?:you )?(?:respond|answer|reply)(?:ing)? (?:to )?the (?:user|human)\b|\b(?:tell|inform|convince|persuade|present|show|ask|instruct|forward to) (?:the|your) user (?:that|to|:|with|about|the following|a message)"
        rf"|\bcall {G40}before (?:responding|answering|replying)|\byou (?:will|must|should|are to) (?:pretend|simulate|secretly|covertly)\b{G80}(?:the|your) user"
        r"|\byour user has been|\bshown to the user in (?:every|each|all) (?:summary|summaries|reply|response|answer)",
    ),
    (
        _K.PERSONA,
        False,
        "you are now|you're now|from now on|developer mode|you are the system|anything now",
        r"\byou(?:'re| are) now (?:in |operating in |entering )?(?:(?:an? |the )?(?:developer|unrestricted|debug|god|admin|root|maintenance|jailbreak|jailbroken|dan|free)\b(?: mode)?"
        r"|an? (?:ai|assistant|bot|chatbot|llm|language model|different|unfiltered|uncensored|evil|new)\b|dan\b|free (?:of|from) )"
        rf"|\bfrom now on,? (?:you (?:are|will|must|have|can|shall)\b{G40}(?:restriction|rules?|filter|assistant|ai\b|model|answer|respond|reply|role|persona|obey|comply|ignore|pretend|act))"
        r"|\byou are the system prompt|\bdo anything now\b|\bin developer mode,? you\b",
    ),
    (
        _K.PERSONA,
        False,
        "restrict|rules|filter|uncensored|limits|unrestricted|policy|guidelines|safety",
        rf"\b(?:act|behave|respond|pretend|play|role-?play|simulate)\b{G25}\b(?:uncensored|unrestricted|unfiltered|jailbroken|evil|ai with no|model with no|without ethical)\b"
        rf"|\b(?:answer|respond|reply|comply|act|operate)\b{G40}without (?:any )?(?:restrictions?|filter(?:s|ing)?|limits|limitations|censorship|moral|ethical)\b"
        rf"|\byou (?:now )?have no (?:content )?(?:restrictions|rules|limits|filters|guidelines)\b|\b(?:safety|security) (?:protocols?|guidelines|rules|filters|measures) (?:are |have been )?(?:disabled|off|suspended|do not apply|no longer apply)"
        r"|\bexempt from (?:the |your |all )?(?:usual )?(?:restrictions|content polic)|\b(?:disregard|ignore|bypass) (?:the |your )?(?:content|safety|usage) (?:policy|policies|guidelines|filters?)"
        r"|\bcomply with (?:every|all|any) (?:requests?|commands?)\b",
    ),
    (
        _K.PERSONA,
        False,
        "your role is|play the role|minigame|certified red teamer|your goal is to convince",
        rf"\b(?:in (?:this|the) (?:mini-?game|scenario|game|simulation)),? (?:your role|you \(the (?:assistant|ai)\)|you will (?:play|pretend))|\byou \(?(?:the )?(?:assistant|ai|chatgpt)[^)]{{0,20}}\)? will (?:play|pretend|act){G10}"
        r"|\byour goal is to convince the (?:human|user)|\bas a certified red teamer",
    ),
    (
        _K.SECRETS,
        False,
        "system prompt|system message|system instruction|prompt|instructions|words above|text above|everything above|history|log|developer message|secrets|configuration|your rules|your guidelines",
        rf"(?<!n't )(?<!not )(?<!never )\b(?:reveal|show|print|repeat|output|display|leak|dump|tell|disclose|expose|share|provide|return|recite|echo|reproduce|spell out)\b(?: me| us)?{G25}\b{_TOLD}",
    ),
    (
        _K.SECRETS,
        False,
        "api key|password|credential|credit card|secret|customer list|private admin|token|bank details",
        r"(?<!n't )(?<!not )(?<!never )\b(?:reveal|leak|dump|exfiltrate|steal|disclose)\b (?:me |us )?(?:all |any |the |your |their |its |user |internal |admin ){0,3}(?:api keys?|passwords?|credentials|secrets?|credit card|customer list|tokens?)\b"
        r"|\b(?:display|show|print|give me) (?:me )?(?:the |all |your ){0,2}(?:credit card details|(?:private )?admin (?:password|pages?)|passwords? (?:of|for) (?:the )?users?)|\bhere is the admin password"
        rf"|\bsuggest (?:that )?users? share{G40}(?:bank|card|password|personal)|\btell me your secrets",
    ),
    (
        _K.CONCEAL,
        False,
        "the user|the human|anyone|user's knowledge|user noticing|user knowing",
        r"\b(?:do not|don't|never|must not|without) (?:tell(?:ing)?|inform(?:ing)?|alert(?:ing)?|mention(?:ing)?|notify(?:ing)?|warn(?:ing)?|reveal(?:ing)?|let(?:ting)?|disclos(?:e|ing))(?: (?:this|that|it|any of this))?(?: to)? (?:the |your )?(?:user|human)s?\b(?! (?:what|how|which|where|when|why))"
        r"|\bwithout the (?:user|human)(?:'s)? (?:knowledge|consent|noticing|knowing)\b[^.]{0,40}(?:send|forward|run|execut|call)"
        r"|\bpretending not to know anything about|\bpersuading and manipulating the user|\bsecretly (?:you will )?pursue",
    ),
    (
        _K.EXFILTRATION,
        False,
        "http|www.|@|webhook|external|attacker",
        rf"\b(?:send|e-?mail|forward|post|upload|transmit|exfiltrate|submit|leak|deliver|gather)\w*\b{G40}\b(?:conversation|chat (?:history|log)|user'?s? (?:data|name|e-?mail|messages?|question|information|input|credentials|password)"
        rf"|(?:full |entire |whole )?customer (?:list|data|records?)|passwords?|credentials|api keys?|session (?:token|cookie)s?|private (?:data|keys?)|system prompt|secrets?)\b{G80}"
        r"(?:https?://|\bwww\.|[\w.+-]{1,40}@[\w-]{1,40}\.|\b(?:this|the following|external) (?:url|address|server|endpoint|webhook|site))",
    ),
    (
        _K.EXFILTRATION,
        False,
        "![",
        r"!\[[^\]\n]{0,120}\]\(\s?https?://[^)\s]{1,300}[?&/#=][^)\s]{0,200}(?:\{|\[|<|%7b|\$\(|(?:data|history|secret|conversation|prompt|leak|exfil|stolen)=)",
    ),
    (
        _K.EXFILTRATION,
        True,
        "image",
        rf"\b(?:render|include|display|embed|output|insert)\b{G25}\bmarkdown image\b{G80}(?:https?://|url|query|parameter)",
    ),
    (
        _K.TOOL,
        False,
        '<|[tool_call|tool_calls"|function_call"',
        r"</?(?:tool_calls?|function_calls?|tool_use|tool_code|invoke name|antml:[a-z_]{1,20})\b|<\|tool|\[tool_calls?\]|\"(?:tool_calls|function_call)\" ?:",
    ),
    (
        _K.TOOL,
        False,
        "send_|delete_|transfer_|read_|write_|execute_|run_|forward_|drop_|remove_|post_",
        r"\b(?:call|use|invoke|execute|run|trigger)(?: the)? (?:send|delete|transfer|read|write|execute|run|forward|drop|remove|post)_(?:e?mails?|files?|money|funds|payments?|shell|commands?|code|messages?|urls?|database|tables?|users?|records?)\b",
    ),
    (
        _K.REPLY,
        False,
        "reply|response|answer|output|summary|review",
        rf"\b(?:append|add|insert|attach|put|place|include)\b{G40}\b(?:exact|following|secret|this|the) (?:token|string|phrase|word|text|code|link|sentence|url)\b{G40}\b(?:to|in|at|into) (?:the (?:end|start|beginning) of )?(?:your|every|each|all) (?:\w+ )?(?:reply|response|answer|output|summary|review|message)"
        r"|\b(?:respond|reply|answer) (?:to (?:every|all|each) [^.]{1,30} )?(?:only )?with (?:exactly |only |the (?:exact )?(?:text|words?|phrase) )?[:\"'`]"
        r"|\breply with (?:exactly|only) (?:this|the following)\b",
    ),
    (
        _K.REPLY,
        True,
        "your reply|your response|your answer|your output|your summary|your review|your message|your final|your next|your whole|your entire|reply in reverse",
        r"(?:^|[.!?:;>*\"'] ?|\band |\bplease |\balso |\bthen )(?:add|append|include|insert|integrate|incorporate|modify|augment|enhance|alter|adjust|render|translate|encode|encrypt|write|replace|provide|misspell|jumble|reverse|combine|group|use|put|deliver|compose|convert|omit|remove|start|begin|end|finish)\b"
        rf"(?:{G80}\b(?:{_YOUR_REPLY}|words of your|(?:in|of|to) your message)|\b {_YOUR_REPLY})"
        rf"|(?:^|[.!?>] ?)in {_YOUR_REPLY},? (?:suggest|tease|mention|recommend|promote|include|encourage|claim|state|add|say|use|direct|tell|link)|^\W{{0,3}}reply in reverse",
    ),
    (
        _K.REPLY,
        False,
        "recommend|rank|rate|only source|favourably|favorably|positive review",
        rf"\b(?:{_MODEL}|you) (?:summari[sz]\w+ |reading ){G25}(?:must|should) (?:always )?(?:recommend|rank|rate|mention)|\b(?:always|must|you should) (?:recommend|rank|rate|list|describe) (?:this|our|us)\b{G40}\b(?:first|highest|above|best|as the (?:best|only|top|most))"
        r"|\bgive (?:a|only) (?:a )?positive reviews?(?: only)?\b|\bdo not (?:highlight|mention) any negatives",
    ),
    (
        _K.REPLY,
        True,
        "in your summary|shown above",
        r"\binclude the \w{2,20}(?: shown above)? in your summary",
    ),
    (
        _K.ENCODED,
        False,
        "decode|base64|rot13|decrypt|decipher|hex",
        rf"\b(?:decode|decrypt|decipher|unscramble|translate|read)\b{_BLOB_REACH}\b(?:and|then)\b (?:then )?(?:\w+ )?(?:execute|run|follow|obey|perform|do (?:exactly |what)|carry out|comply)\b",
    ),
    (
        _K.TOOL,
        True,
        "os.popen|subprocess|curl |eval(|hashlib",
        r"\bwhat is the (?:final )?result of\b.{0,10}(?:import |eval)|\bif a user asked to execute\b",
    ),
)
