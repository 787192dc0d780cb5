"""Orders to a language model in the languages that pages are most often written in besides English."""

from __future__ import annotations

from core.injection.rule import G10, G25, G40, G80, Row
from core.model import InjectionKind

_K = InjectionKind
OTHER_LANGUAGES: tuple[Row, ...] = (
    # German
    (
        _K.OVERRIDE,
        False,
        "anweisung|instruktion|befehl|regeln|vorgabe|prompt|systemprompt|besprochen|restriktion",
        rf"\b(?:ignorier\w{{0,4}}|vergiss|vergesst|vergessen sie|missacht\w{{0,4}}|überschreib\w{{0,4}})\b{G40}\b(?:alle\w?|vorherig\w+|bisherig\w+|obig\w+|dein\w*|ihre|vorangegangen\w+|alles|früher\w+)\b{G40}(?:anweisung|instruktion|befehl|regeln|vorgabe|prompt|besprochen)"
        rf"|\bab (?:jetzt|sofort) (?:hast|bist|antwortest|wirst) du\b{G40}(?:keine|ein|ohne|frei)",
    ),
    (
        _K.SECRETS,
        False,
        "systemanweisung|system-prompt|systemprompt|system prompt|anweisungen|instruktionen",
        rf"\b(?:verrat\w{{0,3}}|zeig\w{{0,3}}|gib|nenn\w{{0,3}}|offenbar\w{{0,3}}|wiederhol\w{{0,3}})\b{G25}\b(?:dein\w*|ihre\w*|den|die)\b{G10}(?:system-? ?(?:prompt|anweisung|instruktion)|(?:ursprünglichen|geheimen|internen) (?:anweisung|instruktion))",
    ),
    # French
    (
        _K.OVERRIDE,
        False,
        "instruction|consigne|règles|regles|directive|ordres",
        rf"\b(?:ignore[zrs]?|oublie[zrs]?|(?:ne )?ti?en(?:s|ez) pas compte|fais abstraction|néglige[zr]?)\b{G25}\b(?:toute?s|les|tes|vos|des|ces)\b{G25}(?:instructions|consignes|r[èe]gles|directives|ordres)(?! d)(?:{G10}(?:précédent|precedent|antérieur|ci-dessus)|)",
    ),
    (
        _K.SECRETS,
        False,
        "prompt|système|systeme|instructions",
        rf"\b(?:révèle|revele|révélez|affiche|affichez|montre|montrez|divulgue|répète)\w*\b{G25}(?:(?:instructions|prompt|consignes|message) (?:du |de )?(?:système|systeme|système|initial)|prompt système)",
    ),
    (
        _K.EXFILTRATION,
        False,
        "données|donnees|mots de passe|datos|contraseñas|dati|passwort|kundendaten|daten|adresse|http",
        rf"\b(?:envoie|envoyez|transmets|transmettez|rassemble|envía|envia|reenvía|invia|inoltra|sende|schicke|leite)\b{G80}(?:données|donnees|mots? de passe|datos|contraseñas|lista de clientes|dati|kundendaten|passwörter|zugangsdaten){G80}(?:@|https?:|adresse externe|dirección externa)",
    ),
    # Spanish, Portuguese, Italian
    (
        _K.OVERRIDE,
        False,
        "instruccion|órdenes|ordenes|reglas|indicaciones|instruções|instrucoes|regras|ordens|istruzioni|regole|comandi|directrices",
        rf"\b(?:ignor[ae]n?|olvid[ae]n?|haz caso omiso|hagan caso omiso|descart[ae]|esqueç[ao]m?|esqueca|desconsider[ae]m?|dimentica(?:te)?|trascura(?:te)?|ignorate)\b{G25}\b(?:todas?|tutte|las|tus|sus|de las|as|suas|tuas|le|tue|anteriores?|previas|precedenti|quaisquer)\b{G25}(?:instrucciones|órdenes|ordenes|reglas|indicaciones|directrices|instruções|instrucoes|regras|ordens|istruzioni|regole|comandi)",
    ),
    (
        _K.SECRETS,
        False,
        "sistema|prompt",
        rf"\b(?:revela|revele|muestra|muéstrame|muestre|imprime|repite|rivela|mostra|mostre|stampa|ripeti|exiba)\b{G25}(?:(?:instrucciones|mensaje|prompt|istruzioni|messaggio|instruções) (?:del?|di|do) sistema|prompt di sistema|system prompt)",
    ),
    (
        _K.ROLE,
        False,
        "nota di sistema|nota del sistema|nota do sistema|systemhinweis|note système|системное сообщение|системная заметка",
        r"^[ \t>*#\[(]{0,6}(?:nota d(?:i|el|o) sistema|mensaje del sistema|messaggio di sistema|systemhinweis|systemnachricht|note système|message système|системн\w+ (?:сообщение|заметка)) ?:",
    ),
    (
        _K.PERSONA,
        False,
        "restriccion|restrizion|restrição|restrições|einschränkung|restriction|regole|reglas|regeln",
        rf"\b(?:come|como|als|en tant qu'?)\s?(?:un )?(?:asistente|assistente|assistent|assistant)\b{G80}{G80}(?:no aplican|non valgono|gelten nicht|ne s'appliquent pas)"
        rf"|\b(?:responde|responder|rispondi|rispondere|antworte|réponds|répondre)\b{G25}\b(?:sin|senza|ohne|sans|sem) (?:ninguna |alcuna |jegliche |aucune )?(?:restric|restriz|einschränk|restri)"
        r"|\b(?:ora|ahora|agora) (?:sei|eres|estás|você é|és) (?:un[ao]? )?(?:senza|sin|sem|libre|libero|livre|dan)\b",
    ),
    # Dutch, Polish, Turkish
    (
        _K.OVERRIDE,
        False,
        "instructies|opdrachten|regels|instrukcj|poleceni|zasad|reguł|talimat|komut|yönerge|kurallar",
        rf"\b(?:negeer|vergeet)\b{G25}\b(?:alle|eerdere|vorige|bovenstaande|je)\b{G25}(?:instructies|opdrachten|regels)"
        rf"|\b(?:zignoruj|ignoruj|zapomnij o|pomiń)\b{G25}\b(?:wszystki\w+|poprzedni\w+|wcześniejsz\w+|powyższ\w+|swo\w+)\b{G25}(?:instrukcj|poleceni|zasad|reguł)"
        rf"|\b(?:önceki|yukarıdaki|tüm|bütün)\b{G25}(?:talimat|komut|yönerge|kural)\w*{G25}(?:yok say|görmezden|unut|dikkate alma)",
    ),
    # Russian, Ukrainian
    (
        _K.OVERRIDE,
        False,
        "инструкци|указани|правил|команд|інструкці",
        rf"\b(?:про)?(?:игнорируй\w*|забудь\w*|ігноруй\w*|не обращай\w* внимания на|отмени\w*)\b{G25}\b(?:все|всі|предыдущи\w+|прежни\w+|свои|твои|попередні|любые)\b{G25}(?:инструкци|указани|правил|команд|інструкці|вказівк)",
    ),
    (
        _K.SECRETS,
        False,
        "систем",
        rf"\b(?:покажи|раскрой|выведи|напечатай|повтори)\w{{0,2}}\b{G25}системн\w+ (?:промпт|инструкц|подсказк|сообщени)",
    ),
    # Chinese, Japanese, Korean
    (
        _K.OVERRIDE,
        False,
        "指令|指示|规则|規則|提示|命令|ルール|지시|명령|지침|设定",
        r"(?:忽略|无视|忘记|忘掉|不要理会|忽視|無視|忘記|抛弃)[^。！？\n]{0,14}(?:之前|以上|上面|前面|先前|所有|全部|一切|此前|你的)[^。！？\n]{0,10}(?:指令|指示|规则|規則|提示|命令|设定)"
        r"|(?:以前|前|上記|これまで|すべて|全て|上)の?[^。！？\n]{0,10}(?:指示|命令|指令|ルール)[^。！？\n]{0,6}(?:無視|忘れ)"
        r"|(?:이전|위|모든|앞)[^.!?\n]{0,12}(?:지시|명령|지침)[^.!?\n]{0,8}(?:무시|잊)",
    ),
    (
        _K.SECRETS,
        False,
        "系统提示|系統提示|系统指令|提示词|システムプロンプト|시스템 프롬프트",
        r"(?:显示|透露|输出|泄露|告诉我|顯示|打印|重复)[^。！？\n]{0,12}(?:系统提示|系統提示|系统指令|提示词)"
        r"|システムプロンプト[^。！？\n]{0,10}(?:表示|教え|出力|見せ)|시스템 프롬프트[^.!?\n]{0,10}(?:보여|출력|알려)",
    ),
    # Arabic, Hindi
    (
        _K.OVERRIDE,
        False,
        "التعليمات|الأوامر|تعليمات|निर्देश",
        r"(?:تجاهل|انس|تجاهلي)[^.!?\n]{0,25}(?:التعليمات|الأوامر|تعليمات)|(?:पिछले|सभी|पहले के)[^.!?\n]{0,20}निर्देश[^.!?\n]{0,15}(?:अनदेखा|भूल|नज़रअंदाज़)",
    ),
)
