"""The style sheet of a page: light and dark, as the reader's system says."""

STYLE = """
:root { color-scheme: light dark; --text: #1c1c1c; --back: #ffffff; --line: #d5d5d5; --soft: #666666; }
@media (prefers-color-scheme: dark) {
  :root { --text: #e6e6e6; --back: #16181b; --line: #3a3d42; --soft: #a0a0a0; }
}
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem;
  color: var(--text); background: var(--back); }
section { border-top: 1px solid var(--line); margin-top: 2.5rem; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; margin: 0.5rem 0; font-size: 0.92rem; }
th, td { text-align: left; vertical-align: top; padding: 0.3rem 0.8rem 0.3rem 0;
  border-bottom: 1px solid var(--line); }
td small { display: block; color: var(--soft); }
figure { margin: 1rem 0; }
figure img { width: 100%; max-width: 48rem; background: #ffffff; border-radius: 4px; }
summary { cursor: pointer; }
.badge { padding: 0.1rem 0.5rem; border-radius: 0.6rem; color: #ffffff; font-size: 0.85rem; }
.holds { background: #00694b; }
.fails { background: #a8400a; }
.open { background: #5b5b5b; }
""".strip()
