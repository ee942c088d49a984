"""What `docs/benchmarks.md` says about how it was measured, and on what the search was chosen."""

CHOICES = """\
**What was chosen on what.** That there are four lists, that a section counts as its best sentence does, and
the idea of searching both levels were chosen with SciFact's *test* questions in view; the lists' shares
(.75 and .375) on SciFact's training claims and MTRAG-UN's pooled passages. So SciFact and MTRAG-UN say how
well the search does on what it was made on, not on what is new to it. **Nothing was chosen on the headings
below**: they are known items, where the innermost heading of a section is the question and the file that
has it is the answer. They are easier than people's questions, as the words are those of the text, and they
favour whoever searches headings; so do not compare their numbers with SciFact's. The constants of quoting
and of abstaining were chosen on the manuals' questions, see [answerability](decisions/answerability.md) and
[citation verification](decisions/citation-verification.md)."""

METHOD = """\
How it was measured:

- **Everyone** has the same model, all-MiniLM-L6-v2, on the CPU, no language model and no reranker: Athena
  its bundled int8 ONNX file, the others but for the tuned one the float32 weights in torch. Each has an
  environment of its own, reads and cuts the files itself, and is used as its documentation teaches;
  `bench/peers/` has the code.
- **What is embedded** differs, and with it the work: Athena embeds every sentence *and* every section,
  Haystack only sections, haiku.rag chunks of 256 tokens, txtai paragraphs, LlamaIndex sentences of sections
  that `AutoMergingRetriever` puts together again. Fewer passages are ingested faster and cite less exactly.
- **LlamaIndex, as documented**: `HuggingFaceEmbedding` with its defaults, `VectorStoreIndex` in memory,
  `BM25Retriever`, `QueryFusionRetriever` by relative score. **Tuned**: the same sentences; Athena's int8
  ONNX file by a small class of LlamaIndex's own embedding interface, 64 texts of like length a batch, no
  file's path in what is embedded, and FAISS. Its own ONNX backend needs optimum-onnx, which asks for a
  transformers that sentence-transformers 6 does not work with.
- **Haystack**: `MarkdownHeaderSplitter`, `InMemoryDocumentStore`, both retrievers joined by reciprocal
  ranks. **txtai**: `Embeddings(hybrid=True, content=True)`. Both embed everything again in a second ingest.
  **haiku.rag**: `create_document_from_source` a file, LanceDB; its tokenizer is set to MiniLM's, as its own
  is not offline.
- **Ingest** is the whole process by the clock, imports included; *again* is a new process over the index
  that is there, nothing changed. Athena's is the median of three on rust-book, everything else is run once.
- **Search** is one question after another in a process that is warm, 100 candidates a list. Athena's time
  has its merging, its verdict on answerability and its selection in it. Peers get fewer questions over
  opensearch-docs.
- **Memory** is the peak of the process and those it starts, looked at every 50 ms. **Environment** is every
  file of the virtual environment as pip makes it from PyPI, pip and byte code included; most of the peers'
  is CUDA's libraries, which torch brings along on Linux even where there is no GPU. Athena's is
  what `make run` makes, by `python -m bench.setup_cost`; all in 2^20 bytes, as `du -sm` counts.
- **SciFact**: the 300 judged test claims; `athena eval retrieval`, and for the others a file an abstract,
  which is one passage but for haiku.rag's chunks.
- **Intervals** are 95 % percentile bootstrap intervals over questions, 10,000 resamples, seeded; a
  difference is paired by question. They say nothing about times, which come from one machine.
- **Bold** is the best of a row. Every single number is in `benchmarks.json`."""
