"""Pairs of English words that say the opposite of each other, as documentation uses them."""

from __future__ import annotations

WORDS = """
abnormal normal | above below | absolute relative | accept refuse | accept reject | accepted refused |
accepted rejected | active inactive | active passive | add delete | after before | agree disagree |
alive dead | all none | allow block | allow deny | allow forbid | allow prevent | allow prohibit |
allow refuse | allow reject | allowed forbidden | allowed prohibited | allowed rejected | alone together |
always never | always sometimes | amber green | amber red | appear disappear | append prepend |
arm disarm | ascend descend | ascending descending | asleep awake | asynchronous synchronous |
asynchronously synchronously | attach detach | automatic manual | automatically manually |
available unavailable | backup main | backup primary | backward forward | begin end | best worst |
better worse | beyond within | big small | borrow lend | borrowed owned | bottom top | bound unbound |
bright dim | broaden narrow | busy idle | cause prevent | centralized distributed | changing constant |
charge discharge | cheap expensive | child parent | clean dirty | client server |
clockwise counterclockwise | close open | closed open | coarse fine | cold hot | cold warm |
collapse expand | common rare | complete partial | complicate simplify | compress decompress |
compressed uncompressed | compulsory voluntary | concave convex | concurrently sequentially |
confirm deny | connect disconnect | connected disconnected | constant mutable | constant variable |
consume produce | consumer producer | contains excludes | continue stop | continuous intermittent |
cool heat | cooler heater | copied moved | copy move | correct wrong | create delete | create destroy |
create drop | daily hourly | daily weekly | dark light | day night | decode encode | decrease grow |
decrease increase | decrease more | decrypt encrypt | deep shallow | deeper shallower |
defined undefined | delay hasten | delayed immediate | delete insert | dense sparse | deny grant |
deprecated recommended | destination source | die survive | different similar | difficult easy |
disable enable | disabled enabled | discard keep | discard persist | discard preserve | discard retain |
discard store | discarded saved | discourage encourage | discourage recommend | discouraged encouraged |
disengage engage | divide multiply | divide unite | double halve | downgrade upgrade | download upload |
drain fill | drop keep | drop raise | drop retain | dry wet | duplicate unique | dynamic static |
eager lazy | earlier later | earliest latest | east west | easy hard | empty full | encrypted plain |
end start | enough insufficient | enter exit | ephemeral persistent | equal unequal | even odd |
everyone nobody | exclude include | exclusive inclusive | exclusive shared | expand shrink |
expired valid | explicit implicit | explicitly implicitly | external internal | fail pass | fail succeed |
failed passed | failed successful | fails succeeds | failure success | fall rise | false true | far near |
farthest nearest | fast slow | faster slower | fastest slowest | fell rose | few many | fewer increase |
fewer more | final initial | finish start | finite infinite | first last | fixed variable |
flexible rigid | follow precede | follower leader | following preceding | forbid permit |
forbidden permitted | forget remember | frequent rare | full partial | future past | general specific |
global local | grant revoke | green red | grow shrink | handled unhandled | hard soft | heap stack |
heavier lighter | heavy light | helpful useless | hidden visible | hide show | high low | higher lower |
highest lowest | hold release | horizontal vertical | ignore respect | immediately later |
immutable mutable | impossible possible | improve reduce | improve worsen | inbound outbound |
incoming outgoing | increase less | increase lower | increase reduce | inlet outlet | inner outer |
input output | insecure secure | insensitive sensitive | insert remove | inside outside |
install uninstall | instance static | invalid valid | inward outward | irreversible reversible |
join leave | joint separate | keep remove | kept removed | known unknown | large small | larger smaller |
largest smallest | latest oldest | leading trailing | least most | leaves stays | left right |
lengthen shorten | lenient strict | less more | limited unlimited | linear nonlinear | load unload |
lock unlock | long short | longer shorter | longest shortest | loosen tighten | lose win |
lossless lossy | lost saved | loud quiet | lower raise | lower upper | major minor | majority minority |
malfunc nominal | mandatory optional | master slave | matched unmatched | max min | maximal minimal |
maximise minimise | maximize minimize | maximum minimum | may must | merge split | minus plus |
monthly weekly | mount unmount | narrow wide | narrower wider | necessary unnecessary |
negative positive | never often | never usually | new old | newer older | newest oldest | next previous |
nominal offline | nonzero zero | north south | numeric textual | offline online | often rarely |
often seldom | old young | once repeatable | once twice | open shut | opposite same | optional required |
ordered unordered | outside within | overwrite preserve | parallel sequential | parallel serial |
pause resume | permanent temporary | permit prevent | permitted prohibited | persistent transient |
physical virtual | plural singular | pop push | port starboard | post pre | primary replica |
primary secondary | private public | private shared | public secret | pull push | quick slow |
quicker slower | raise reduce | rarely usually | read write | receive send | receiver sender |
recoverable unrecoverable | register unregister | registered unregistered | relax restrict |
release reserve | right wrong | rough smooth | running stopped | safe unsafe | safe vulnerable |
same separate | save spend | separately together | short tall | signed unsigned | sink source |
sorted unsorted | source target | stable unstable | start stop | stateful stateless | strengthen weaken |
strong weak | stronger weaker | successful unsuccessful | supported unsupported | thick thin |
thicker thinner | trusted untrusted | typed untyped | useful useless | wired wireless
"""
PAIRS = tuple((pair.split()[0], pair.split()[1]) for pair in WORDS.split("|"))
