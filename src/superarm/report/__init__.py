"""Reports: figures (`curves`), one page that needs nothing else (`page`), and the terminal (`console`)."""
